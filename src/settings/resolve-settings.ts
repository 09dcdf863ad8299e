import { HeddleError } from '../core/errors.ts';
import { type Profile, readProfiles } from './profiles.ts';
import {
  publicWeave,
  type Setting,
  type SettingName,
  type SettingValues,
  type SourceKind,
  settingDefinitions,
} from './settings.ts';

/** Where the value of a setting came from; `name` is the flag, the environment name or the profile. */
export type Source = { from: SourceKind; name?: string };

export interface ResolvedSettings {
  values: SettingValues;
  sources: Record<SettingName, Source>;
  /** Environment names that hold an unfilled `${…}` placeholder of a host; they count as unset. */
  placeholders: string[];
}

export interface Inputs {
  /** Texts of the flags that were given. */
  flags: Partial<Record<SettingName, string>>;
  environment: NodeJS.ProcessEnv;
  /** Profiles by name; read from `config.json` when absent. */
  profiles?: Record<string, Profile>;
  /** Accept a profile that does not exist yet, as `login` does. */
  newProfile?: boolean;
}

const optionNames = Object.keys(settingDefinitions) as SettingName[];

/**
 * Settles every setting: flag, environment, profile, default, first hit wins (design §3). Empty texts and unfilled
 * placeholders count as unset.
 * @throws HeddleError `not_configured` naming the source of a value that cannot be read, or an unknown profile.
 */
export function resolveSettings({
  flags,
  environment,
  profiles = readProfiles(),
  newProfile = false,
}: Inputs): ResolvedSettings {
  const placeholders = [...new Set(optionNames.flatMap(environmentNames))].filter((name) =>
    isPlaceholder(environment[name]),
  );
  const given = (text: string | undefined): string | undefined =>
    text === undefined || text === '' || isPlaceholder(text) ? undefined : text;

  const values: Record<string, unknown> = {};
  const sources = {} as Record<SettingName, Source>;

  const find = (name: SettingName, profile: Profile, profileName: string): { text?: string; source: Source } => {
    const option: Setting = settingDefinitions[name];
    const flag = given(flags[name]);
    if (flag !== undefined) return { text: flag, source: { from: 'flag', name: option.flag!.split(' ')[0]! } };
    const variable = given(environment[option.environment]);
    if (variable !== undefined) return { text: variable, source: { from: 'environment', name: option.environment } };
    const kept = option.profile === undefined ? undefined : profile[option.profile];
    if (kept !== undefined && kept !== '') {
      return { text: String(kept), source: { from: 'profile', name: profileName } };
    }
    if (option.weave && (name === 'baseUrl' || values.weave)) {
      if ('value' in option.weave) return { text: option.weave.value, source: { from: 'default' } };
      const known = given(environment[option.weave.environment]);
      if (known !== undefined) return { text: known, source: { from: 'environment', name: option.weave.environment } };
    }
    return { source: { from: option.default === undefined ? 'unset' : 'default' } };
  };

  const { text: chosen, source: chosenBy } = find('profile', {}, '');
  const profileName = chosen ?? settingDefinitions.profile.default;
  const profile = Object.hasOwn(profiles, profileName) ? profiles[profileName]! : undefined;
  if (profile === undefined && chosenBy.from !== 'default' && !newProfile) {
    throw new HeddleError({
      code: 'not_configured',
      message: `There is no profile "${profileName}" (from ${chosenBy.name}).`,
      hint: `Known profiles: ${Object.keys(profiles).join(', ') || 'none'}. \`heddle login --profile NAME\` makes one.`,
    });
  }

  const unknown = Object.keys(profile ?? {}).find((key) => !profileKeys.includes(key));
  if (unknown !== undefined) {
    throw new HeddleError({
      code: 'not_configured',
      message: `Profile "${profileName}" has the unknown key "${unknown}".`,
      hint: `Known keys: ${profileKeys.join(', ')}. A secret does not belong there: \`heddle login\` keeps it in the keychain.`,
    });
  }

  for (const name of optionNames) {
    const option: Setting = settingDefinitions[name];
    const { text, source } = find(name, profile ?? {}, profileName);
    sources[name] = source;
    try {
      values[name] = text === undefined ? option.default : option.parse(text, source.from);
    } catch (error) {
      // A URL with user information has a secret in it.
      const shown = option.secret || text?.includes('@') ? '' : ` is ${JSON.stringify(text)}, but it`;
      throw new HeddleError({
        code: 'not_configured',
        message: `${describeSource(source, option)}${shown} ${(error as Error).message}.`,
        hint: 'Correct the value, or leave it away.',
      });
    }
    if (name === 'weave' && values.weave === undefined) {
      values.weave = values.baseUrl === publicWeave || sources.baseUrl.name === 'WF_TRACE_SERVER_URL';
      sources.weave = { from: 'default' };
    }
  }
  return { values: Object.freeze(values) as SettingValues, sources, placeholders };
}

/** What a profile may hold: the settings that have a key, and the store that `login` recorded. */
const profileKeys = [...optionNames.flatMap((name) => (settingDefinitions[name] as Setting).profile ?? []), 'store'];

/** Every environment name that a setting is read from. */
export function environmentNames(name: SettingName): string[] {
  const { environment, weave }: Setting = settingDefinitions[name];
  return weave && 'environment' in weave ? [environment, weave.environment] : [environment];
}

function describeSource(source: Source, option: Setting): string {
  return source.from === 'profile' ? `"${option.profile}" of profile "${source.name}"` : (source.name ?? '');
}

function isPlaceholder(text: string | undefined): boolean {
  return text !== undefined && /^\$\{[^}]*\}$/.test(text);
}
