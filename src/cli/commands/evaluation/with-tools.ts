import type { Command } from 'commander';
import { runTool } from '../../../mcp/run-tool.ts';
import type { McpServerOptions } from '../../../mcp/server.ts';
import type { ReportProgress } from '../../../records/call-context.ts';
import { tools } from '../../../tools/definition/registry.ts';
import { withRuntime } from '../../access/with-runtime.ts';
import { drawProgress } from '../../terminal/progress.ts';
import { FailedWork } from '../../terminal/report-failure.ts';
import { optionsInFaults } from '../../usage/argument-options.ts';
import { keepingInMemory } from './dry-run-service.ts';

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
 * @param options.isDryRun whether the dataset, the scorers and the evaluation that tools store stay in memory.
 * @throws FailedWork for every failure, `cancelled` after SIGINT.
 */
export async function withTools(
  command: Command,
  work: (runner: ToolRunner, options: McpServerOptions) => Promise<void>,
  { progress = drawProgress, isDryRun = false }: { progress?: ReportProgress; isDryRun?: boolean } = {},
): Promise<void> {
  try {
    await withRuntime(command, (options, signal) => {
      const wrap = keepingInMemory();
      const service = isDryRun ? async () => wrap(await options.service()) : options.service;
      const unlimited = { ...options, service, maxResultChars: Number.MAX_SAFE_INTEGER };
      const run: ToolRunner['run'] = async (name, args) => {
        const tool = tools.find((candidate) => candidate.name === name)!;
        const outcome = await runTool(tool, args, { signal, progress }, unlimited);
        if ('error' in outcome) throw optionsInFaults(outcome.error, tool, command);
        return outcome.data;
      };
      return work({ run, signal }, { ...options, service });
    });
  } catch (error) {
    throw new FailedWork(error);
  }
}
