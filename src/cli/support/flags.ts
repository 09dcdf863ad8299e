import { type Command, Option as Flag, InvalidArgumentError } from 'commander';
import { type ResolvedSettings, resolveSettings } from '../../settings/resolve-settings.ts';
import { type SettingName, settingDefinitions } from '../../settings/settings.ts';

/** Reads the port of a flag. */
export function asPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
}

/** Gives a command the flags of these settings, from the option table. */
export function addSettingFlags(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const option = settingDefinitions[name];
    if (!('flag' in option)) throw new Error(`${name} has no flag`);
    const fallback = 'default' in option ? `, default ${option.default}` : '';
    command.option(option.flag, `${option.help} (${option.environment}${fallback})`);
  }
  return command;
}

/** The settings of a command's run: its flags, then everything else (design §3). `login` may name a new profile. */
export function settingsOf(command: Command, { newProfile = false } = {}): ResolvedSettings {
  return resolveSettings({ flags: flagsOf(command), environment: process.env, newProfile });
}

/** The texts of the flags that were given. */
export function flagsOf(command: Command): Partial<Record<SettingName, string>> {
  const given = command.opts<Record<string, string | boolean>>();
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of Object.keys(settingDefinitions) as SettingName[]) {
    const option = settingDefinitions[name];
    if (!('flag' in option)) continue;
    const value = given[new Flag(option.flag).attributeName()];
    if (value !== undefined) flags[name] = String(value);
  }
  return flags;
}
