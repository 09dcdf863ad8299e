import { confirm } from '@clack/prompts';
import { UsageError } from './report-failure.ts';

/**
 * Asks a person whether to make a change. `--yes` answers for them.
 * @throws UsageError if there is no terminal to ask on.
 */
export async function confirmChange(message: string, { yes }: { yes?: true | undefined }): Promise<boolean> {
  if (yes) return true;
  if (process.stdin.isTTY && process.stdout.isTTY) return (await confirm({ message, initialValue: false })) === true;
  throw new UsageError('nothing was changed: there is no terminal to ask for confirmation on; add --yes');
}
