import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import envPaths from 'env-paths';
import * as z from 'zod';
import { HeddleError } from '../contract/errors.ts';

const paths = envPaths('heddle', { suffix: '' });

/** Where profiles are kept. */
export const configFile = join(paths.config, 'config.json');

/** Where the embedded service keeps its data unless told otherwise. */
export const defaultDataDir = paths.data;

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const configFileShape = z.looseObject({
  profiles: z.record(z.string(), z.record(z.string(), scalar)).optional(),
});

/** A profile's values by their keys, as text or number. Never a secret. */
export type Profile = Record<string, string | number | boolean>;

/**
 * The profiles of `config.json`; none when there is no file.
 * @throws HeddleError `not_configured` when the file cannot be read or has another shape.
 */
export function readProfiles(file = configFile): Record<string, Profile> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw unreadable(file, (error as Error).message, error);
  }
  try {
    return configFileShape.parse(JSON.parse(text)).profiles ?? {};
  } catch (error) {
    throw unreadable(file, error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message, error);
  }
}

function unreadable(file: string, reason: string, cause: unknown): HeddleError {
  return new HeddleError({
    code: 'not_configured',
    message: `The configuration file ${file} cannot be used: ${reason}`,
    hint: 'Mend or remove the file, then try again.',
    cause,
  });
}
