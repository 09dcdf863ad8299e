import type { Command } from 'commander';
import { dataLocation, secretsOf } from '../../runtime/runtime.ts';
import { openServiceStore, type Store } from '../../service/start-service.ts';
import type { SettingName, SettingValues } from '../../settings/settings.ts';
import { invocation } from '../invocation.ts';
import { settingsOf } from '../usage/flags.ts';

/** Settings that say where the data of the embedded service is. */
export const dataFlags: readonly SettingName[] = ['profile', 'dataDir', 'databaseUrl'];

/** Returns where the data is, after its secrets are protected. */
export function storedDataOf(command: Command): string {
  const settings = settingsOf(command);
  invocation().redactor.protect(...secretsOf(settings.values));
  return dataLocation(settings);
}

/** Opens the data that the settings of a command name, and closes it after `use`. */
export async function withStore<T>(
  command: Command,
  use: (store: Store, values: SettingValues) => Promise<T>,
): Promise<T> {
  const store = await openServiceStore(storedDataOf(command));
  const { values } = settingsOf(command);
  try {
    return await use(store, values);
  } finally {
    await store.close();
  }
}
