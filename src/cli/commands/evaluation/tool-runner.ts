import type { Command } from 'commander';
import { openRuntime, type Runtime } from '../../../runtime/runtime.ts';
import { parseArguments } from '../../../tools/definition/arguments.ts';
import { tools } from '../../../tools/definition/registry.ts';
import { runtimeOptions } from '../../access/secrets.ts';
import { invocation, withInterrupt } from '../../invocation.ts';
import { showProgress } from '../../terminal/progress.ts';
import { FailedWork } from '../../terminal/report-failure.ts';
import { settingsOf } from '../../usage/flags.ts';

/** Calls tools for a command, without the limit of size that a model's result has. */
export interface ToolRunner {
  // biome-ignore lint/suspicious/noExplicitAny: results of every shape
  run: (name: string, args: Record<string, unknown>) => Promise<any>;
  /** Aborts when the person presses Ctrl-C. */
  signal: AbortSignal;
}

/**
 * Runs a command that calls tools, and ends what it has opened. SIGINT cancels the tool call, and with it the run of an
 * evaluation.
 * @throws FailedWork for every failure, `cancelled` after SIGINT.
 */
export async function withTools(
  command: Command,
  work: (runner: ToolRunner, runtime: Runtime) => Promise<void>,
  onProgress: (done: number, message: string) => void = (_, message) => showProgress(message),
): Promise<void> {
  const settings = settingsOf(command);
  const runtime = openRuntime(settings, runtimeOptions(settings));
  const { redactor } = invocation();
  const runnerFor =
    (signal: AbortSignal): ToolRunner['run'] =>
    async (name, args) => {
      const { serverOptions } = runtime;
      const listed = tools.find((tool) => tool.name === name)!;
      const tool = await listed.load();
      const service = (await serverOptions.service()).withSharedDeadline();
      const input = parseArguments(tool.input, args, listed, (text) => redactor.redact(text));
      const result = await tool.run(input, {
        service,
        project: serverOptions.project,
        maxResultChars: Number.MAX_SAFE_INTEGER,
        signal,
        ask: () => 'cannot',
        offersTool: (name) => serverOptions.tools.some((offered) => offered.name === name),
        withoutSecrets: (value) => redactor.redactValueInSteps(value, async () => {}),
        progress: onProgress,
      });
      return redactor.redactValueInSteps(result, async () => {});
    };
  try {
    await withInterrupt((signal) => work({ run: runnerFor(signal), signal }, runtime));
  } catch (error) {
    throw new FailedWork(error);
  } finally {
    showProgress('');
    await runtime.close();
  }
}
