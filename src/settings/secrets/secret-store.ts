import * as z from 'zod';
import type { StoreKind } from '../profiles.ts';

/** The secrets of one profile at one service. A store writes and reads a record as a whole. */
export const secretRecord = z.strictObject({
  /** User name that belongs to the password. */
  username: z.string().optional(),
  password: z.string().optional(),
  token: z.string().optional(),
  /** The inference URL for which the token was checked, unless it is the default of the base URL. */
  inference_url: z.string().optional(),
});
export type SecretRecord = z.output<typeof secretRecord>;

/**
 * A place where secrets are kept. Records are filed under the base URL for which `login` checked them, so that a secret
 * never goes to another service when the configuration changes. All errors are HeddleErrors.
 */
export interface SecretStore {
  kind: StoreKind;
  /** Returns a profile's records by base URL. Never prompts the user. */
  read(profile: string): Promise<Record<string, SecretRecord>>;
  write(profile: string, baseUrl: string, record: SecretRecord): Promise<void>;
  /** Removes a profile's records, except the one of `keptBaseUrl`. */
  remove(profile: string, keptBaseUrl?: string): Promise<void>;
}
