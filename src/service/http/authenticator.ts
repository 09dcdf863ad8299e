import type { AuthScheme } from '../../contract/endpoints.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { type Account, grantsOf, hashedAccount, hashSecret } from '../admin/accounts.ts';
import type { Database, ProjectFilter } from '../storage/database.ts';

/** The account that sent a request. */
export interface AuthenticatedAccount {
  name: string;
  maySee: ProjectFilter;
}

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
   * Returns the account that an Authorization header belongs to.
   * @throws Refusal 401 with a challenge for the scheme.
   */
  async authenticate(scheme: AuthScheme, header: string | undefined): Promise<AuthenticatedAccount> {
    const headers = { 'WWW-Authenticate': `${scheme === 'basic' ? 'Basic' : 'Bearer'} realm="heddle"` };
    if (header === undefined) {
      throw new Refusal(401, 'Not authenticated', { headers, body: { detail: 'Not authenticated' } });
    }
    const [givenScheme = '', credentials = ''] = header.split(/ +/);
    const account =
      givenScheme.toLowerCase() === scheme ? await this.#findAccount(hashedSecret(scheme, credentials)) : undefined;
    if (account === undefined) throw new Refusal(401, '401 Error', { headers });
    return account;
  }

  // Comparing hashes needs no constant time: a caller cannot steer the hash of a guess towards a stored one.
  async #findAccount(secret: HashedSecret): Promise<AuthenticatedAccount | undefined> {
    const own = this.#processAccount;
    const columns = Object.keys(secret) as (keyof HashedSecret)[];
    if (own && columns.every((column) => secret[column] === own[column])) return { name: own.name, maySee: () => true };
    const rows = await this.#database.read((transaction) =>
      transaction
        .selectFrom('accounts')
        .leftJoin('project_grants', 'project_grants.account', 'accounts.name')
        .select(['name', 'project_id'])
        .where(({ and }) => and(secret))
        .execute(),
    );
    const [account] = rows;
    if (!account) return undefined;
    const grants = grantsOf(rows.flatMap(({ project_id }) => project_id ?? []));
    return { name: account.name, maySee: (projectId) => grants === 'all' || grants.includes(projectId) };
  }
}

function hashedSecret(scheme: AuthScheme, credentials: string): HashedSecret {
  if (scheme === 'bearer') return { token_hash: hashSecret(credentials) };
  const [, ...password] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
  return { password_hash: hashSecret(password.join(':')) };
}
