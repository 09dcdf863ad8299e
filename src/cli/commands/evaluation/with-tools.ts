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

/** Tools that try without storing. */
export interface Trial {
  tools: ToolRunner;
  options: McpServerOptions;
}

/**
 * Runs a command that calls tools, and ends what it has opened. SIGINT cancels the tool call, and with it the run of an
 * evaluation.
 * @param work does it; what the tools of its third argument store, datasets, scorers and evaluations, stays in memory.
 * @throws FailedWork for every failure, `cancelled` after SIGINT.
 */
export async function withTools(
  command: Command,
  work: (runner: ToolRunner, options: McpServerOptions, trial: Trial) => Promise<void>,
  progress: ReportProgress = drawProgress,
): Promise<void> {
  try {
    await withRuntime(command, (options, signal) => {
      const runnerOf = (given: McpServerOptions): ToolRunner => ({
        signal,
        async run(name, args) {
          const tool = tools.find((candidate) => candidate.name === name)!;
          const unlimited = { ...given, maxResultChars: Number.MAX_SAFE_INTEGER };
          const outcome = await runTool(tool, args, { signal, progress }, unlimited);
          if ('error' in outcome) throw optionsInFaults(outcome.error, tool, command);
          return outcome.data;
        },
      });
      const wrap = keepingInMemory();
      const trial = { ...options, service: async () => wrap(await options.service()) };
      return work(runnerOf(options), options, { tools: runnerOf(trial), options: trial });
    });
  } catch (error) {
    throw new FailedWork(error);
  }
}
