import type { Command } from 'commander';
import type { ServiceClient } from '../../client/service-client.ts';
import { openRuntime } from '../../runtime/runtime.ts';
import { withInterrupt } from '../invocation.ts';
import { UsageError } from '../terminal/report-failure.ts';
import { settingsOf } from '../usage/flags.ts';
import { runtimeOptions } from './secrets.ts';

/** Access to the service that the settings of a command name, as the tools have it. */
export interface OpenedService {
  service: ServiceClient;
  project: string;
  /** Aborts when the person presses Ctrl-C. */
  signal: AbortSignal;
}

/**
 * Opens the service that the settings of a command name, and closes it after `use`.
 * @throws UsageError without a project.
 */
export async function withService<T>(command: Command, use: (opened: OpenedService) => Promise<T>): Promise<T> {
  const settings = settingsOf(command);
  const { serverOptions, close } = openRuntime(settings, runtimeOptions(settings));
  const { project } = serverOptions;
  if (project === undefined) throw new UsageError('no project: pass --project entity/project or set HEDDLE_PROJECT');
  try {
    return await withInterrupt(async (signal) => use({ service: await serverOptions.service(), project, signal }));
  } finally {
    await close();
  }
}
