import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { HeddleError } from '../../core/errors.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { inChunks } from '../storage/in-chunks.ts';
import { batched } from './batched.ts';

/** An account with its secrets in clear, as it is known only while it is made. */
export interface Account {
  name: string;
  password: string;
  token: string;
}

/** Makes a stored account with random 256-bit secrets, of which only the SHA-256 is kept. */
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
      .values({
        name,
        password_hash: hash(account.password).toString('hex'),
        token_hash: hash(account.token).toString('hex'),
        created_at: new Date().toISOString(),
      })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst(),
  );
  if (numInsertedOrUpdatedRows === 0n) {
    throw new HeddleError({
      code: 'conflict',
      message: `There is an account ${name} already.`,
      hint: 'Choose another name; the secrets of an account are shown only when it is made.',
    });
  }
  return account;
}

/** Finds out who calls: the stored accounts, and the one that was made for this process, if any. */
export class Authenticator {
  readonly #database: Database;
  readonly #passwordHash: (name: string) => Promise<string | undefined>;
  readonly #own: { name: string; passwordHash: Buffer; tokenHash: Buffer } | undefined;

  constructor(database: Database, own: Account | undefined) {
    this.#database = database;
    this.#passwordHash = batched((names) => database.read((transaction) => passwordHashes(transaction, names)));
    this.#own = own && { name: own.name, passwordHash: hash(own.password), tokenHash: hash(own.token) };
  }

  /** Name of the account that the credentials after `Basic ` belong to (interface part 5). */
  async basic(credentials: string): Promise<string | undefined> {
    const [name = '', ...password] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
    const given = hash(password.join(':'));
    if (this.#own?.name === name && timingSafeEqual(given, this.#own.passwordHash)) return name;
    const stored = await this.#passwordHash(name);
    return stored !== undefined && timingSafeEqual(given, Buffer.from(stored, 'hex')) ? name : undefined;
  }

  /** Name of the account that has this bearer token (interface part 5). */
  async bearer(token: string): Promise<string | undefined> {
    const given = hash(token);
    if (this.#own && timingSafeEqual(given, this.#own.tokenHash)) return this.#own.name;
    // Looking up by the hash tells nothing by its timing: nobody can steer the hash of a guess.
    const stored = await this.#database.read((transaction) =>
      transaction
        .selectFrom('accounts')
        .select('name')
        .where('token_hash', '=', given.toString('hex'))
        .executeTakeFirst(),
    );
    return stored?.name;
  }
}

async function passwordHashes(transaction: Transaction, names: string[]): Promise<(string | undefined)[]> {
  const rows = await inChunks(names, (chunk) =>
    transaction.selectFrom('accounts').select(['name', 'password_hash']).where('name', 'in', chunk).execute(),
  );
  const hashes = new Map(rows.map(({ name, password_hash }) => [name, password_hash]));
  return names.map((name) => hashes.get(name));
}

function hash(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
