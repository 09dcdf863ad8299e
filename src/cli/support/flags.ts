import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ResolvedSettings, resolveSettings } from '../../settings/resolve-settings.ts';
import { type Setting, type SettingName, settingDefinitions, settingNames } from '../../settings/settings.ts';

/** Settings that only `heddle serve --http` needs, and that have flags. */
export const httpFlags: readonly SettingName[] = ['oauthIssuer', 'publicUrl', 'oauthAudience', 'subjects'];

/** The other settings that have flags. */
export const runtimeFlags: readonly SettingName[] = settingNames.filter(
  (name) => 'flag' in settingDefinitions[name] && !httpFlags.includes(name),
);

/** Adds the flags of settings to a command, with help from the settings table. */
export function addSettingFlags(command: Command, names: readonly SettingName[]): Command {
  for (const name of names) {
    const { flag, environment, help, default: fallback }: Setting = settingDefinitions[name];
    command.option(flag!, `${help} (${environment}${fallback === undefined ? '' : `, default ${fallback}`})`);
  }
  return command;
}

/** Resolves the settings of a command from its flags, the environment, the profile and the defaults. */
export function settingsOf(command: Command, { newProfile = false } = {}): ResolvedSettings {
  return resolveSettings({ flags: flagsOf(command), environment: process.env, newProfile });
}

/** Returns the settings that were given as flags, as text. */
export function flagsOf(command: Command): Partial<Record<SettingName, string>> {
  const given = command.opts<Record<string, string | boolean>>();
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    const { flag }: Setting = settingDefinitions[name];
    const value = flag && given[new Option(flag).attributeName()];
    if (value !== undefined) flags[name] = String(value);
  }
  return flags;
}

export function asPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
}
