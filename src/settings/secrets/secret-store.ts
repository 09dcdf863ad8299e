import type { StoreKind } from '../profiles.ts';

/** What `login` keeps for one profile at one service. Written and read as one, so that it is never half of it. */
export interface SecretRecord {
  /** Whom the password belongs to. */
  username?: string;
  password?: string;
  token?: string;
}

/**
 * Where secrets are kept. Records are filed under their base URL, so that a secret never goes to another service than
 * the one that `login` checked it at, whatever the configuration says later. Every failure is a HeddleError.
 */
export interface SecretStore {
  kind: StoreKind;
  /** The records of a profile by base URL. Never asks the user anything. */
  read(profile: string): Promise<Record<string, SecretRecord>>;
  /** Puts a record in, in place of the one that was there. */
  write(profile: string, baseUrl: string, record: SecretRecord): Promise<void>;
  /** Removes a profile's records, but for the one to keep. */
  remove(profile: string, keep?: string): Promise<void>;
}
