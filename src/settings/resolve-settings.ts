import { type HeddleError, notConfigured } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { type Folders, type Profile, readProfiles } from './profiles.ts';
import {
  defaultInferenceUrl,
  publicWeave,
  type Setting,
  type SettingName,
  type SettingValues,
  type SourceKind,
  settingDefinitions,
  settingNames,
} from './settings.ts';

/** Source of a setting or secret; `name` is the flag, the environment variable or the profile. */
export type Source = { from: SourceKind; name?: string };

/** Describes in words where a setting or secret comes from: `HEDDLE_TOKEN`, `profile "work"`, `default`. */
export function describeSource({ from, name }: Source): string {
  if (from === 'profile') return `profile "${name}"`;
  if (from === 'keychain') return `keychain, profile "${name}"`;
  if (from === 'file') return `credentials file, profile "${name}"`;
  return name ?? from;
}

export interface ResolvedSettings {
  values: SettingValues;
  folders: Folders;
  sources: Record<SettingName, Source>;
  /** Environment variables that hold a `${…}` placeholder that the MCP client did not fill in and therefore count as unset. */
  placeholders: string[];
}

export interface Inputs {
  /** Values of the given flags, as text. */
  flags: Partial<Record<SettingName, string>>;
  environment: NodeJS.ProcessEnv;
  folders: Folders;
  /** Profiles by name; read from `config.json` if absent. */
  profiles?: Record<string, Profile>;
  /** Accepts a profile or a base URL that does not exist yet, as `login` does. */
  newProfile?: boolean;
}

/** Keys that a profile may hold: those of the settings, and `store`, the secret store that `login` used. */
const profileKeys = [...settingNames.flatMap((name) => definitionOf(name).profile ?? []), 'store'];

/**
 * Resolves every setting from the first of flag, environment, profile, Weave's own variable or value, and default that is
 * set. Empty values and unfilled placeholders count as unset. See docs/configuration.md.
 * @throws HeddleError `not_configured` naming the source of an invalid or useless value, or an unknown profile or profile
 * key.
 */
export function resolveSettings(inputs: Inputs): ResolvedSettings {
  const values: Record<string, unknown> = {};
  const sources = {} as Record<SettingName, Source>;
  let profile: Profile = {};
  // The order matters: all depend on `profile`, `inferenceUrl` and `weave` on `baseUrl`, and later settings on `weave`.
  for (const name of settingNames) {
    // A profile's inference URL belongs to the profile's service.
    const isOfOtherService =
      name === 'inferenceUrl' &&
      sources.baseUrl.from !== 'profile' &&
      profile.base_url !== undefined &&
      profile.base_url !== values.baseUrl;
    const found = findText(name, inputs, isOfOtherService ? {} : profile, values);
    sources[name] = found.source;
    values[name] = parseText(name, found);
    if (name === 'profile') profile = selectProfile(String(values.profile), found.source, inputs);
    if (name === 'weave') values.weave ??= isWeaveByDefault(values, sources);
  }
  if (sources.weave.from === 'unset') sources.weave = { from: 'default' };
  // A folder that a flag names wins over a database that the environment names.
  if (sources.dataDir.from === 'flag' && sources.databaseUrl.from !== 'flag') {
    values.databaseUrl = undefined;
    sources.databaseUrl = { from: 'unset' };
  }
  if (values.baseUrl === undefined) {
    // With subjects, the base URLs are in their profiles.
    const mayHaveBaseUrl = inputs.newProfile || values.subjects !== undefined;
    if (values.inferenceUrl !== undefined && !mayHaveBaseUrl) throw inferenceWithoutService(sources.inferenceUrl);
  } else if (values.inferenceUrl === undefined) {
    values.inferenceUrl = defaultInferenceUrl(values.baseUrl as string);
    sources.inferenceUrl = { from: 'default' };
  }
  return {
    values: Object.freeze(values) as SettingValues,
    folders: inputs.folders,
    sources,
    placeholders: [...new Set(settingNames.flatMap(environmentNames))].filter((name) =>
      isPlaceholder(inputs.environment[name]),
    ),
  };
}

/** Settings that select the service and the account. */
export const profileSettings = [
  'profile',
  'baseUrl',
  'inferenceUrl',
  'weave',
  'project',
  'username',
  'password',
  'token',
] as const;

/**
 * Resolves the settings of a profile, whose service and account neither flags nor the environment replace.
 * @param hint the next step for a profile that does not exist or names no service.
 * @throws HeddleError `not_configured` for such a profile, and as {@link resolveSettings} does.
 */
export function resolveProfile(
  profile: string,
  { flags, environment, folders }: Inputs,
  hint = `Run \`heddle login --profile ${profile}\`.`,
): ResolvedSettings {
  const profiles = readProfiles(folders);
  if (!Object.hasOwn(profiles, profile)) throw notConfigured(`There is no profile "${profile}".`, hint);
  const variables: string[] = profileSettings.flatMap(environmentNames);
  const others = Object.entries(environment).filter(([name]) => !variables.includes(name));
  const inputs = { flags: { ...flags, profile }, environment: Object.fromEntries(others), folders, profiles };
  const resolved = resolveSettings(inputs);
  if (resolved.values.baseUrl !== undefined) return resolved;
  throw notConfigured(`Profile "${profile}" names no service.`, hint);
}

/** Lists every environment variable that a setting is read from. */
export function environmentNames(name: SettingName): string[] {
  const { environment, lowerCase, weave } = definitionOf(name);
  return [
    ...(lowerCase ? [environment.toLowerCase()] : []),
    environment,
    ...(weave && 'environment' in weave ? [weave.environment] : []),
  ];
}

interface Found {
  text?: string;
  source: Source;
}

/** Finds the text of a setting. `values` are those of the settings before it. */
function findText(
  name: SettingName,
  { flags, environment }: Inputs,
  profile: Profile,
  values: Record<string, unknown>,
): Found {
  const { flag, environment: variable, lowerCase, profile: profileKey, weave, default: fallback } = definitionOf(name);
  const candidates: [text: unknown, source: Source][] = [
    [flags[name], { from: 'flag', name: flag?.split(' ')[0] }],
    ...(lowerCase ? [variable.toLowerCase(), variable] : [variable]).map((name): [unknown, Source] => [
      environment[name],
      { from: 'environment', name },
    ]),
    [profileKey && ownMember(profile, profileKey), { from: 'profile', name: String(values.profile) }],
  ];
  if (weave && (name === 'baseUrl' || values.weave)) {
    candidates.push(
      'value' in weave
        ? [weave.value, { from: 'default' }]
        : [environment[weave.environment], { from: 'environment', name: weave.environment }],
    );
  }
  for (const [value, source] of candidates) {
    const text = value === undefined ? '' : String(value);
    if (text !== '' && !isPlaceholder(text)) return { text, source };
  }
  return { source: { from: fallback === undefined ? 'unset' : 'default' } };
}

function selectProfile(
  name: string,
  source: Source,
  { folders, profiles = readProfiles(folders), newProfile }: Inputs,
): Profile {
  const profile = ownMember(profiles, name);
  if (!profile) {
    if (source.from === 'default' || newProfile) return {};
    throw notConfigured(
      `${source.name} names a profile that does not exist.`,
      `Known profiles: ${Object.keys(profiles).join(', ') || 'none'}. \`heddle login --profile NAME\` creates one.`,
    );
  }
  const unknownKey = Object.keys(profile).find((key) => !profileKeys.includes(key));
  if (unknownKey === undefined) return profile;
  throw notConfigured(
    `Profile "${name}" has the unknown key "${unknownKey}".`,
    `Known keys: ${profileKeys.join(', ')}. Secrets do not belong there: \`heddle login\` stores them in the keychain.`,
  );
}

function parseText(name: SettingName, { text, source }: Found): unknown {
  const definition = definitionOf(name);
  if (text === undefined) return definition.default;
  try {
    return definition.parse ? definition.parse(text, source.from) : text;
  } catch (error) {
    // The value is not shown: it may be a secret that was put in the wrong place, or contain one, as a URL may.
    throw notConfigured(`${placeOf(name, source)} ${(error as Error).message}.`, 'Fix the value or remove it.');
  }
}

/** Describes where the value of a setting was found. */
function placeOf(name: SettingName, { from, name: place }: Source): string | undefined {
  return from === 'profile' ? `"${definitionOf(name).profile}" of profile "${place}"` : place;
}

function inferenceWithoutService(source: Source): HeddleError {
  const place = placeOf('inferenceUrl', source);
  return notConfigured(
    `${place} is set, but no base URL is: the embedded service runs inference itself.`,
    `Set HEDDLE_BASE_URL too, or remove ${place}. HEDDLE_MODEL_PROVIDER_URL lets the embedded service forward inference to an API.`,
  );
}

/** Returns the default of the setting `weave`: true for the public service, and for a base URL from WF_TRACE_SERVER_URL. */
function isWeaveByDefault(values: Record<string, unknown>, sources: Record<string, Source>): boolean {
  return values.baseUrl === publicWeave || sources.baseUrl?.name === 'WF_TRACE_SERVER_URL';
}

function definitionOf(name: SettingName): Setting {
  return settingDefinitions[name];
}

function isPlaceholder(text: string | undefined): boolean {
  return text !== undefined && /^\$\{[^}]*\}$/.test(text);
}
