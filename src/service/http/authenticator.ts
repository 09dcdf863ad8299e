import type { AuthScheme } from '../../contract/endpoints.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { type Account, hashedAccount, hashSecret } from '../admin/accounts.ts';
import type { Database } from '../storage/database.ts';

type HashedCredentials = Partial<ReturnType<typeof hashedAccount>>;

/** Checks the credentials of requests against the stored accounts and, if there is one, the account of this process. */
export class Authenticator {
  readonly #database: Database;
  readonly #processAccount: HashedCredentials | undefined;

  constructor(database: Database, processAccount: Account | undefined) {
    this.#database = database;
    this.#processAccount = processAccount && hashedAccount(processAccount);
  }

  /**
   * Returns the name of the account that an Authorization header belongs to.
   * @throws Refusal 401 with a challenge for the scheme.
   */
  async authenticate(scheme: AuthScheme, header: string | undefined): Promise<string> {
    const headers = { 'WWW-Authenticate': `${scheme === 'basic' ? 'Basic' : 'Bearer'} realm="heddle"` };
    if (header === undefined) {
      throw new Refusal(401, 'Not authenticated', { headers, body: { detail: 'Not authenticated' } });
    }
    const [givenScheme = '', credentials = ''] = header.split(/ +/);
    const name =
      givenScheme.toLowerCase() === scheme ? await this.#findName(hashCredentials(scheme, credentials)) : undefined;
    if (name === undefined) throw new Refusal(401, '401 Error', { headers });
    return name;
  }

  // Comparing hashes needs no constant time: a caller cannot steer the hash of a guess towards a stored one.
  async #findName(credentials: HashedCredentials): Promise<string | undefined> {
    const columns = Object.keys(credentials) as (keyof HashedCredentials)[];
    if (columns.every((column) => credentials[column] === this.#processAccount?.[column])) {
      return this.#processAccount?.name;
    }
    const account = await this.#database.read((transaction) =>
      transaction
        .selectFrom('accounts')
        .select('name')
        .where(({ and }) => and(credentials))
        .executeTakeFirst(),
    );
    return account?.name;
  }
}

function hashCredentials(scheme: AuthScheme, credentials: string): HashedCredentials {
  if (scheme === 'bearer') return { token_hash: hashSecret(credentials) };
  const [name = '', ...password] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
  return { name, password_hash: hashSecret(password.join(':')) };
}
