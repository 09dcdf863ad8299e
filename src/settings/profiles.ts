import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import envPaths from 'env-paths';
import * as z from 'zod';
import { HeddleError } from '../core/errors.ts';
import { replacePrivateFile } from '../core/private-file.ts';

const paths = envPaths('heddle', { suffix: '' });

/** Where profiles are kept. */
export const configFile = join(paths.config, 'config.json');

/** Where `login --store file` keeps secrets. */
export const credentialsFile = join(paths.config, 'credentials.json');

/** Where the embedded service keeps its data unless told otherwise. */
export const defaultDataDir = paths.data;

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const configFileShape = z.looseObject({
  profiles: z.record(z.string(), z.record(z.string(), scalar)).optional(),
});

/** A profile's values by their keys, as text or number. Never a secret. */
export type Profile = Record<string, string | number | boolean>;

/** Where `login` can keep secrets; a profile names one as `store`. */
export const storeKinds = ['keychain', 'file'] as const;
export type StoreKind = (typeof storeKinds)[number];
export const storeNames = { keychain: 'the keychain', file: 'the credentials file' } as const;

/** The store that `login` recorded in a profile; undefined where there was no login. */
export function storeOf(profile: Profile | undefined): StoreKind | undefined {
  return storeKinds.find((kind) => kind === profile?.store);
}

/**
 * The profiles of `config.json`; none when there is no file.
 * @throws HeddleError `not_configured` when the file cannot be read or has another shape.
 */
export function readProfiles(file = configFile): Record<string, Profile> {
  return readConfigFile(file).profiles ?? {};
}

/**
 * Replaces one profile, or removes it when there is none to write. Everything else in the file stays.
 * @throws HeddleError `not_configured` when the file cannot be read or written.
 */
export function writeProfile(name: string, profile: Profile | undefined, file = configFile): void {
  const { profiles = {}, ...rest } = readConfigFile(file);
  const { [name]: _, ...others } = profiles;
  const next = { ...rest, profiles: profile === undefined ? others : { ...others, [name]: profile } };
  try {
    replacePrivateFile(file, `${JSON.stringify(next, null, 2)}\n`);
  } catch (error) {
    throw unusable(file, (error as Error).message, error);
  }
}

function readConfigFile(file: string): z.output<typeof configFileShape> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw unusable(file, (error as Error).message, error);
  }
  try {
    return configFileShape.parse(JSON.parse(text));
  } catch (error) {
    throw unusable(file, error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message, error);
  }
}

function unusable(file: string, reason: string, cause: unknown): HeddleError {
  return new HeddleError({
    code: 'not_configured',
    message: `The configuration file ${file} cannot be used: ${reason}`,
    hint: 'Mend or remove the file, or correct its permissions, then try again.',
    cause,
  });
}
