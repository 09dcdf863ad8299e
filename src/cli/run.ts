import { onUncaught } from '../runtime/process-lifecycle.ts';
import { runStdioServer } from '../runtime/serve-stdio.ts';
import { resolveSettings } from '../settings/resolve-settings.ts';
import { runtimeOptions } from './access/runtime-options.ts';
import { invocation, programName } from './invocation.ts';
import { flagsOfStdioServer } from './usage/setting-flags.ts';

/** Runs the command that the arguments name. Reports failures on stderr and sets the exit code. */
export async function run(): Promise<void> {
  const current = invocation();
  const { args, environment, folders, control, redactor, stdout, stderr } = current;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as `head` closed the pipe, which is no failure.
    if (error.code !== 'EPIPE') throw error;
    if (!current.isChanging) control.exit(0);
  });
  redactor.protectEnvironment(environment);
  onUncaught(control, async (error) => {
    // An update may have removed the file that reports. That would be one more uncaught error, and so on without end.
    const exitCode = await report(error).catch(() => {
      stderr.write(
        'heddle: unexpected failure, which cannot be reported: was heddle updated meanwhile? Start it again.\n',
      );
      return 1;
    });
    control.exit(exitCode);
  });
  const flags = flagsOfStdioServer(args);
  // A person at a terminal is told what the server waits for.
  const program = flags === undefined || current.stdin.isTTY ? await import('./program.ts') : undefined;
  try {
    if (program) await program.parseAndRun(args);
    else {
      const settings = resolveSettings({ flags: flags ?? {}, environment, folders });
      const options = runtimeOptions(settings, programName(true));
      await runStdioServer(settings, options, { input: current.stdin, output: stdout, control });
      control.exit(0);
    }
  } catch (error) {
    current.exitCode = await report(error);
  }
}

async function report(error: unknown): Promise<number> {
  const { reportFailure } = await import('./terminal/report-failure.ts');
  return reportFailure(error);
}
