import { confirm } from '@clack/prompts';
import { UsageError } from './report-failure.ts';
import { isInteractive, questionStreams } from './terminal.ts';

/**
 * Asks a person whether to make a change. `--yes` answers for them.
 * @param initialValue the answer that Enter gives.
 * @throws UsageError if there is no terminal to ask on.
 */
export async function confirmChange(
  message: string,
  { yes }: { yes?: true | undefined },
  initialValue = false,
): Promise<boolean> {
  if (yes) return true;
  if (isInteractive()) return (await confirm({ message, initialValue, ...questionStreams() })) === true;
  throw new UsageError('nothing was changed: there is no terminal to ask for confirmation on; add --yes');
}
