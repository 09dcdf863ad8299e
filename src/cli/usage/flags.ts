import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ownMember } from '../../core/json/member-at.ts';
import { logLevels } from '../../core/log.ts';
import { readProfiles } from '../../settings/profiles.ts';
import { type Inputs, type ResolvedSettings, resolveSettings } from '../../settings/resolve-settings.ts';
import {
  type Setting,
  type SettingName,
  settingDefinitions,
  settingNames,
  wholeNumber,
} from '../../settings/settings.ts';
import { invocation } from '../invocation.ts';
import { UsageError } from '../terminal/report-failure.ts';
import { completeWith, settingsHeading } from './help.ts';
import { runtimeFlags } from './setting-flags.ts';

export { boardFlags, httpFlags, runtimeFlags } from './setting-flags.ts';

/** Adds the flags of settings to a command, with help from the settings table, under a heading of their own. */
export function addSettingFlags(
  command: Command,
  names: readonly SettingName[],
  heading: string = settingsHeading,
): Command {
  for (const name of names) {
    const { flag, environment, help, default: fallback }: Setting = settingDefinitions[name];
    const note = `${environment}${fallback === undefined ? '' : `, default ${fallback}`}`;
    const option = new Option(flag!, `${help} (${note})`).helpGroup(heading);
    if (name === 'profile') completeWith(option, () => Object.keys(readProfiles(invocation().folders)));
    if (name === 'logLevel') completeWith(option, () => logLevels);
    command.addOption(option);
  }
  return command;
}

/** Resolves the settings of a command from its flags, the environment, the profile and the defaults. */
export function settingsOf(command: Command, { newProfile = false } = {}): ResolvedSettings {
  return resolveSettings({ ...inputsOf(command), newProfile });
}

/** Returns the sources of a command's settings. */
export function inputsOf(command: Command): Inputs {
  const { environment, folders } = invocation();
  return { flags: flagsOf(command), environment, folders };
}

/** Returns the project of a command's settings. @throws UsageError without one. */
export function requireProjectSetting(project: string | undefined): string {
  if (project !== undefined) return project;
  throw new UsageError('no project: pass --project entity/project or set HEDDLE_PROJECT');
}

/** Adds the flags of settings to a command that changes data, which read-only mode refuses unless it only shows what it would do. */
export function addChangeFlags(command: Command, names: readonly SettingName[]): Command {
  command.hook('preAction', () => {
    if (!settingsOf(command).values.readOnly || command.opts<{ dryRun?: true }>().dryRun) return;
    throw new UsageError(`${command.name()} changes data, which HEDDLE_READ_ONLY or --read-only forbids`);
  });
  return addSettingFlags(command, [...new Set<SettingName>([...names, 'readOnly'])]);
}

/** Returns the settings that were given as flags, as text. */
export function flagsOf(command: Command): Partial<Record<SettingName, string>> {
  const given = command.opts<Record<string, string | boolean>>();
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    const { flag }: Setting = settingDefinitions[name];
    const value = flag && ownMember(given, new Option(flag).attributeName());
    if (value !== undefined) flags[name] = String(value);
  }
  return flags;
}

/** Returns the settings that were given as flags as arguments of `heddle serve`. Secrets have no flags. */
export function flagArguments({ values, sources }: ResolvedSettings): string[] {
  return runtimeFlags.flatMap((name) => {
    if (sources[name].from !== 'flag') return [];
    const { flag }: Setting = settingDefinitions[name];
    const [option, placeholder] = flag!.split(' ');
    const value = String(values[name]);
    return [option!, ...(placeholder === undefined ? [] : [name === 'dataDir' ? resolve(value) : value])];
  });
}

/** Returns a parser of options that are whole numbers. */
export function asWholeNumber(minimum: number, maximum: number): (text: string) => number {
  const parse = wholeNumber(minimum, maximum);
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(`It ${(error as Error).message}.`);
    }
  };
}

/** Parses a decimal number. @throws InvalidArgumentError for other text. */
export function asNumber(text: string): number {
  if (/^-?\d{1,12}(\.\d{1,12})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number.');
}

/** Parses a share from 0 to 1, or a percentage. @throws InvalidArgumentError for other text. */
export function asShare(text: string): number {
  const share = text.endsWith('%') ? asNumber(text.slice(0, -1)) / 100 : asNumber(text);
  if (share >= 0 && share <= 1) return share;
  throw new InvalidArgumentError('It must be a share from 0 to 1, or a percentage.');
}

export const asPort = asWholeNumber(0, 65_535);
