import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import envPaths from 'env-paths';
import { type HeddleError, notConfigured } from '../core/errors.ts';
import { parseStrictJson } from '../core/json/strict-json.ts';
import { findOwnFile, replacePrivateFile, statRegularFile } from '../core/secrets/private-file.ts';

/** The folders of the user who runs heddle. */
export interface Folders {
  /** Holds the configuration file, and the secrets of `login --store file`. */
  config: string;
  /** Holds the embedded service's data, unless a setting names another folder. */
  data: string;
}

export const userFolders: Folders = envPaths('heddle', { suffix: '' });

/** Returns the path of the configuration file, which holds the profiles. */
export function configFileIn({ config }: Folders): string {
  return join(config, 'config.json');
}

/** Returns the path of the file that holds the secrets of `login --store file`. */
export function credentialsFileIn({ config }: Folders): string {
  return join(config, 'credentials.json');
}

/** A profile's values by key; never secrets. */
export type Profile = Record<string, string | number | boolean>;

/** The stores in which `login` can keep secrets. A profile records its store as `store`. */
export const storeKinds = ['keychain', 'file'] as const;
export type StoreKind = (typeof storeKinds)[number];
export const storeNames = { keychain: 'the keychain', file: 'the credentials file' } as const;

/** Returns the store that `login` recorded in a profile, or undefined if there was no login. */
export function storeOf(profile: Profile | undefined): StoreKind | undefined {
  return storeKinds.find((kind) => kind === profile?.store);
}

/**
 * Reads the profiles of the configuration file, which may be missing. The result inherits nothing, so that it has no profile
 * `constructor` unless the file has.
 * @throws HeddleError `not_configured` if the file cannot be read or has the wrong shape.
 */
export function readProfiles(folders: Folders): Record<string, Profile> {
  return Object.assign(Object.create(null), readConfigFile(configFileIn(folders)).profiles);
}

/**
 * Replaces a profile, or removes it if `profile` is undefined, and keeps everything else in the file.
 * @throws HeddleError `not_configured` if the file cannot be read or written.
 */
export function writeProfile(name: string, profile: Profile | undefined, folders: Folders): void {
  const file = configFileIn(folders);
  const { profiles = {}, ...rest } = readConfigFile(file);
  const { [name]: _, ...others } = profiles;
  const changed = { ...rest, profiles: profile === undefined ? others : { ...others, [name]: profile } };
  try {
    replacePrivateFile(file, `${JSON.stringify(changed, null, 2)}\n`);
  } catch (error) {
    throw unusable(file, error);
  }
}

/**
 * Checks that the profiles can be replaced, before anything else is changed.
 * @throws HeddleError `not_configured` for a file that is not a regular one of this user.
 */
export function checkProfilesFile(folders: Folders): void {
  const file = configFileIn(folders);
  try {
    findOwnFile(file);
  } catch (error) {
    throw unusable(file, error);
  }
}

interface ConfigFile {
  profiles?: Record<string, Profile>;
  [member: string]: unknown;
}

function readConfigFile(file: string): ConfigFile {
  try {
    if (!statRegularFile(file)) return {};
    const content = parseStrictJson(readFileSync(file));
    const faults = shapeFaults(content);
    if (faults.length > 0) throw new Error(faults.join('\n'));
    return content as ConfigFile;
  } catch (error) {
    throw unusable(file, error);
  }
}

/** Lists what is wrong with the shape of a configuration file. By hand, because a start reads it before it loads any schema. */
function shapeFaults(content: unknown): string[] {
  if (typeOf(content) !== 'object') return [`✖ Invalid input: expected object, received ${typeOf(content)}`];
  const { profiles = {} } = content as ConfigFile;
  const notRecord = (value: unknown, path: string): string =>
    `✖ Invalid input: expected record, received ${typeOf(value)}\n  → at ${path}`;
  if (typeOf(profiles) !== 'object') return [notRecord(profiles, 'profiles')];
  const named = Object.entries(profiles).map(([name, profile]) => ({ profile, path: `profiles${memberPath(name)}` }));
  const isRecord = ({ profile }: { profile: unknown }): boolean => typeOf(profile) === 'object';
  const scalars = ['string', 'number', 'boolean'];
  return [
    ...named.filter((one) => !isRecord(one)).map(({ profile, path }) => notRecord(profile, path)),
    ...named.filter(isRecord).flatMap(({ profile, path }) =>
      Object.entries(profile)
        .filter(([, value]) => !scalars.includes(typeof value))
        .map(([key]) => `✖ Invalid input\n  → at ${path}${memberPath(key)}`),
    ),
  ];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function memberPath(name: string): string {
  return /^[\w$]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function unusable(file: string, cause: unknown): HeddleError {
  return notConfigured(
    `The configuration file ${file} cannot be used: ${(cause as Error).message}`,
    'Fix or remove the file, or correct its permissions, then try again.',
  );
}
