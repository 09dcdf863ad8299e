import type { Command } from 'commander';
import type { ServiceClient } from '../../client/service-client.ts';
import type { McpServerOptions } from '../../mcp/server.ts';
import { namingRefusedProject } from '../../records/require-project.ts';
import { openRuntime } from '../../runtime/runtime.ts';
import { withInterrupt } from '../invocation.ts';
import { showProgress } from '../terminal/progress.ts';
import { requireProjectSetting, settingsOf } from '../usage/flags.ts';
import { runtimeOptions } from './runtime-options.ts';

/**
 * Opens what the settings of a command describe, and closes it after `use`.
 * @param use gets a signal that aborts when the person presses Ctrl-C.
 */
export async function withRuntime<T>(
  command: Command,
  use: (options: McpServerOptions, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const settings = settingsOf(command);
  const { serverOptions, close } = openRuntime(settings, runtimeOptions(settings));
  try {
    return await withInterrupt((signal) => use(serverOptions, signal));
  } finally {
    showProgress('');
    await close();
  }
}

/** The service that the settings of a command name. Its requests end when the person presses Ctrl-C. */
export interface OpenedService {
  service: ServiceClient;
  project: string;
}

/**
 * Opens the service that the settings of a command name, and closes it after `use`.
 * @throws UsageError without a project.
 */
export function withService<T>(command: Command, use: (opened: OpenedService) => Promise<T>): Promise<T> {
  return withRuntime(command, async ({ service, project, projectSource }, signal) => {
    const opened = { project: requireProjectSetting(project), service: (await service()).withSignal(signal) };
    return use(opened).catch(async (error) => {
      throw await namingRefusedProject(error, opened.project, projectSource, opened.service);
    });
  });
}
