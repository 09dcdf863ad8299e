import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import envPaths from 'env-paths';
import * as z from 'zod';
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

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const configFileShape = z.looseObject({
  profiles: z.record(z.string(), z.record(z.string(), scalar)).optional(),
});

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

function readConfigFile(file: string): z.output<typeof configFileShape> {
  try {
    if (!statRegularFile(file)) return {};
    return configFileShape.parse(parseStrictJson(readFileSync(file)));
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, cause: unknown): HeddleError {
  const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message;
  return notConfigured(
    `The configuration file ${file} cannot be used: ${reason}`,
    'Fix or remove the file, or correct its permissions, then try again.',
  );
}
