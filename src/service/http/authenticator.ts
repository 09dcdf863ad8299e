import type { AuthScheme } from '../../contract/endpoint.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { type Account, grantsOf, hashedAccount, hashSecret, type ProjectGrants } from '../admin/accounts.ts';
import type { Database, ProjectFilter, Transaction } from '../storage/database.ts';

/** The account that sent a request. */
export interface AuthenticatedAccount {
  name: string;
  maySee: ProjectFilter;
  projects: ProjectGrants;
}

/**
 * Returns the account that an Authorization header belongs to.
 * @throws Refusal 401 with a challenge for the scheme.
 */
export type Authenticate = (scheme: AuthScheme, header: string | undefined) => Promise<AuthenticatedAccount>;

/**
 * Creates the check of the credentials of requests against the stored accounts and, if there is one, the account of this process. The
 * secret alone identifies an account: clients of the public service send any user name, or none, with an API key, and the
 * same key as a bearer token for inference. So both secrets of an account are accepted in both schemes.
 * @param boardKey with this as the password, the user name of Basic tells which stored account sends the request.
 */
export function createAuthenticator(
  database: Database,
  processAccount: Account | undefined,
  boardKey: string | undefined,
): Authenticate {
  const own = processAccount && hashedAccount(processAccount);
  const boardKeyHash = boardKey && hashSecret(boardKey);
  return async (scheme, header) => {
    const headers = { 'WWW-Authenticate': `${scheme === 'basic' ? 'Basic' : 'Bearer'} realm="heddle"` };
    if (header === undefined) {
      throw new Refusal(401, 'Not authenticated', { headers, body: { detail: 'Not authenticated' } });
    }
    const [givenScheme = '', credentials = ''] = header.split(/ +/);
    const isScheme = givenScheme.toLowerCase() === scheme;
    const { name, secret } = credentialsOf(scheme, credentials);
    const find = (): Promise<AuthenticatedAccount | undefined> =>
      boardKeyHash !== undefined && hashSecret(secret) === boardKeyHash
        ? database.read((transaction) => grantsWhere(transaction, 'name', name)).then(accountFrom)
        : findAccount(database, own, secret);
    const account = isScheme ? await find() : undefined;
    if (account === undefined) throw new Refusal(401, '401 Error', { headers });
    return account;
  };
}

// Comparing hashes needs no constant time: a caller cannot steer the hash of a guess towards a stored one. The secrets
// are random, so a fast hash is enough to store them and to look an account up.
async function findAccount(
  database: Database,
  own: ReturnType<typeof hashedAccount> | undefined,
  secret: string,
): Promise<AuthenticatedAccount | undefined> {
  const hash = hashSecret(secret);
  if (own && (hash === own.password_hash || hash === own.token_hash))
    return { name: own.name, maySee: () => true, projects: 'all' };
  const rows = await database.read(async (transaction) => {
    // One after the other: with `or`, SQLite would use neither index for the join.
    const byToken = await grantsWhere(transaction, 'token_hash', hash);
    return byToken.length > 0 ? byToken : grantsWhere(transaction, 'password_hash', hash);
  });
  return accountFrom(rows);
}

type GrantRow = { name: string; project_id: string | null };

/** Reads the account whose column has a value, in a row for each of its grants. */
function grantsWhere(
  transaction: Transaction,
  column: 'name' | 'token_hash' | 'password_hash',
  value: string,
): Promise<GrantRow[]> {
  return transaction
    .selectFrom('accounts')
    .leftJoin('project_grants', 'project_grants.account', 'accounts.name')
    .select(['name', 'project_id'])
    .where(column, '=', value)
    .execute();
}

function accountFrom(rows: readonly GrantRow[]): AuthenticatedAccount | undefined {
  const [account] = rows;
  if (!account) return undefined;
  const grants = grantsOf(rows.flatMap(({ project_id }) => project_id ?? []));
  return {
    name: account.name,
    maySee: (projectId) => grants === 'all' || grants.includes(projectId),
    projects: grants,
  };
}

/** Returns the user name and the password of Basic, or the bearer token. */
function credentialsOf(scheme: AuthScheme, credentials: string): { name: string; secret: string } {
  if (scheme === 'bearer') return { name: '', secret: credentials };
  const [name = '', ...password] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
  return { name, secret: password.join(':') };
}
