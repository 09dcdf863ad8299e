import { createHash, randomBytes } from 'node:crypto';
import { HeddleError } from '../../core/errors.ts';
import type { Database } from '../storage/database.ts';

/** An account with its secrets in plain text. */
export interface Account {
  name: string;
  password: string;
  token: string;
}

/**
 * Creates a stored account with random 256-bit secrets, of which the storage keeps only the hash.
 * @throws HeddleError `invalid_arguments` for a name that cannot be used, `conflict` for one that is taken.
 */
export async function addAccount(database: Database, name: string): Promise<Account> {
  if (!/^[\w.@-]{1,64}$/.test(name)) {
    throw new HeddleError({
      code: 'invalid_arguments',
      message: `${JSON.stringify(name)} cannot be the name of an account.`,
      hint: 'Use 1 to 64 letters, digits, dots, hyphens, underscores or @.',
    });
  }
  const account = { name, password: randomSecret(), token: randomSecret() };
  const { numInsertedOrUpdatedRows } = await database.write((transaction) =>
    transaction
      .insertInto('accounts')
      .values({ ...hashedAccount(account), created_at: new Date().toISOString() })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst(),
  );
  if (numInsertedOrUpdatedRows === 0n) {
    throw new HeddleError({
      code: 'conflict',
      message: `An account named ${name} already exists.`,
      hint: 'Choose another name; the secrets of an account are shown only when it is created.',
    });
  }
  return account;
}

/** Returns an account in the form in which it is stored and looked up. */
export function hashedAccount({ name, password, token }: Account) {
  return { name, password_hash: hashSecret(password), token_hash: hashSecret(token) };
}

/** Returns the SHA-256 of a secret in hexadecimal. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
