import { confirm } from '@clack/prompts';
import { invocation } from '../invocation.ts';
import { UsageError } from './report-failure.ts';
import { isInteractive, questionStreams } from './terminal.ts';

/**
 * Asks a person whether to make a change. `--yes` answers for them. If they decline, the command ends with exit code 1.
 * @param initialValue the answer that Enter gives.
 * @throws UsageError if there is no terminal to ask on.
 */
export async function confirmChange(
  message: string,
  { yes }: { yes?: true | undefined },
  initialValue = false,
): Promise<boolean> {
  const current = invocation();
  if (!yes && !isInteractive()) {
    throw new UsageError('nothing was changed: there is no terminal to ask for confirmation on; add --yes');
  }
  const isConfirmed = yes || (await confirm({ message, initialValue, ...questionStreams() })) === true;
  current.isChanging = isConfirmed;
  if (!isConfirmed) current.exitCode = 1;
  return isConfirmed;
}
