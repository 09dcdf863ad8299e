import type { AuthScheme } from '../../contract/endpoints.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { type Account, hashedAccount, hashSecret } from '../admin/accounts.ts';
import type { Database } from '../storage/database.ts';

type HashedSecret = Partial<Pick<ReturnType<typeof hashedAccount>, 'password_hash' | 'token_hash'>>;

/**
 * Checks the credentials of requests against the stored accounts and, if there is one, the account of this process. The
 * secret alone identifies an account: clients of the public service send any user name, or none, with an API key.
 */
export class Authenticator {
  readonly #database: Database;
  readonly #processAccount: ReturnType<typeof hashedAccount> | undefined;

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
      givenScheme.toLowerCase() === scheme ? await this.#findName(hashedSecret(scheme, credentials)) : undefined;
    if (name === undefined) throw new Refusal(401, '401 Error', { headers });
    return name;
  }

  // Comparing hashes needs no constant time: a caller cannot steer the hash of a guess towards a stored one.
  async #findName(secret: HashedSecret): Promise<string | undefined> {
    const columns = Object.keys(secret) as (keyof HashedSecret)[];
    if (columns.every((column) => secret[column] === this.#processAccount?.[column])) return this.#processAccount?.name;
    const account = await this.#database.read((transaction) =>
      transaction
        .selectFrom('accounts')
        .select('name')
        .where(({ and }) => and(secret))
        .executeTakeFirst(),
    );
    return account?.name;
  }
}

function hashedSecret(scheme: AuthScheme, credentials: string): HashedSecret {
  if (scheme === 'bearer') return { token_hash: hashSecret(credentials) };
  const [, ...password] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
  return { password_hash: hashSecret(password.join(':')) };
}
