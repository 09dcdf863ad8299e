import { entriesNamed } from '../../contract/identifiers.ts';
import { HeddleError } from '../../core/errors.ts';
import { projectIds } from '../operations/projects.ts';
import type { Database, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import { checkAccount, ensureAccount, hashSecret, randomSecret, readGrants } from './accounts.ts';

/** Time in which an invitation can be used, in milliseconds. */
const invitationMs = 24 * 60 * 60_000;
/** Time after which a person must log in again, in milliseconds. */
const sessionMs = 14 * 24 * 60 * 60_000;
/** Queues that an error names at most. */
const maxNamedQueues = 20;

/** A person to invite to the board. */
export interface InvitedPerson {
  account: string;
  /** Project that the board opens, which the account may see from then on. */
  project: string;
  /** Id or name of the queue that the board opens; without it, the person chooses one. */
  queue?: string | undefined;
}

/** A browser that has just logged in. */
export interface NewSession {
  /** The secret of the session, for the cookie. */
  token: string;
  /** Seconds until the session ends. */
  maxAgeSeconds: number;
  account: string;
}

/** What came of an attempt to use an invitation. */
export type UsedInvitation = { session: NewSession; project: string; queue: string | null } | RefusedInvitation;

interface RefusedInvitation {
  refused: 'unknown' | 'used' | 'expired';
  account?: string;
  project_id?: string;
  queue_id?: string | null;
}

/** Invites people to the board, and knows who is logged in. */
export type BoardSessions = ReturnType<typeof boardSessions>;

/** Returns the functions that keep invitations and sessions of the board in the database, of whose secrets only the hashes are stored. */
export function boardSessions(database: Database) {
  return {
    /** Starts a session with an invitation, which thereby ends. `replaced` is the session that the browser had. */
    useInvitation: async (token: string, replaced?: string): Promise<UsedInvitation> => {
      // Read first: whoever guesses must not keep others from writing.
      const found = await database.read((transaction) => findInvitation(transaction, token));
      if ('refused' in found) return found;
      return database.write((transaction) => useInvitation(transaction, token, replaced));
    },
    /** Returns an invitation without using it, or why it cannot be used. */
    readInvitation: (token: string) => database.read((transaction) => findInvitation(transaction, token)),
    /** Starts a session with the password of an account. Undefined for a wrong name or password. */
    logIn: async (name: string, password: string, replaced?: string): Promise<NewSession | undefined> => {
      const account = await database.read((transaction) =>
        transaction
          .selectFrom('accounts')
          .select('name')
          .where('name', '=', name)
          .where('password_hash', '=', hashSecret(password))
          .executeTakeFirst(),
      );
      return account && database.write((transaction) => startSession(transaction, name, replaced));
    },
    /** Starts a session of the first of these accounts that exists, for a person whom an issuer has named. */
    logInAs: async (names: readonly string[], replaced?: string): Promise<NewSession | undefined> => {
      for (const name of names) {
        const exists = await database.read((transaction) => isAccount(transaction, name));
        if (exists) return database.write((transaction) => startSession(transaction, name, replaced));
      }
      return undefined;
    },
    /** Returns true if there is an account with this name. */
    isAccount: (name: string) => database.read((transaction) => isAccount(transaction, name)),
    /** Returns the account of the session with this secret; undefined if there is none or it has ended. */
    accountOf: async (token: string): Promise<string | undefined> => {
      const session = await database.read((transaction) =>
        transaction
          .selectFrom('board_sessions')
          .select('account')
          .where('token_hash', '=', hashSecret(token))
          .where('expires_at', '>', new Date().toISOString())
          .executeTakeFirst(),
      );
      return session?.account;
    },
    /** Returns the projects that an account sees, sorted; for an account that sees all, those that exist. */
    projectsOf: (account: string): Promise<readonly string[]> =>
      database.read(async (transaction) => {
        const grants = await readGrants(transaction, account);
        return grants === 'all' ? projectIds(transaction) : grants;
      }),
    /** Returns whether an account sees a project. */
    maySee: (account: string, project: string) =>
      database.read(async (transaction) => {
        const grants = await readGrants(transaction, account);
        return grants === 'all' || grants.includes(project);
      }),
    /** Ends a session, if there is one. */
    end: (token: string) => database.write((transaction) => endSession(transaction, token)),
  };
}

/**
 * Stores an invitation, and returns its secret and the id of its queue. Creates the account if there is none, and lets it see the
 * project.
 * @throws HeddleError `invalid_arguments` for a name, project or queue that cannot be used.
 */
export function invitePerson(
  database: Database,
  { account, project, queue }: InvitedPerson,
): Promise<{ token: string; expires_at: string; queue_id: string | null }> {
  const token = randomSecret();
  const now = Date.now();
  const [created_at, expires_at] = [now, now + invitationMs].map((ms) => new Date(ms).toISOString()) as [
    string,
    string,
  ];
  return database.write(async (transaction) => {
    await ensureAccount(transaction, account, project);
    const queue_id = queue === undefined ? null : await findQueue(transaction, project, queue);
    await transaction.deleteFrom('board_invitations').where('expires_at', '<=', created_at).execute();
    const row = { token_hash: hashSecret(token), account, project_id: project, queue_id, used_at: null };
    await transaction
      .insertInto('board_invitations')
      .values({ ...row, created_at, expires_at })
      .execute();
    return { token, expires_at, queue_id };
  });
}

/** Returns the id of the queue of a project with this id, or else with this name, whatever its case. */
async function findQueue(transaction: Transaction, project: string, idOrName: string): Promise<string> {
  const queues = await selectInProject(transaction, 'queues', project)
    .select(['id', 'name'])
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .execute();
  if (queues.some(({ id }) => id === idOrName)) return idOrName;
  const named = entriesNamed(idOrName, queues);
  if (named.length === 1) return named[0]!.id;
  const fault =
    named.length === 0
      ? `${project} has no queue ${JSON.stringify(idOrName)}`
      : `${project} has ${named.length} queues named ${JSON.stringify(idOrName)}`;
  const names = (named.length === 0 ? queues : named).map(({ id, name }) => (id === name ? id : `${name} (${id})`));
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `Nobody was invited: ${fault}.`,
    hint:
      names.length === 0 ? 'The project has no queues.' : `Its queues: ${names.slice(0, maxNamedQueues).join(', ')}.`,
  });
}

/** Returns an invitation that can be used now, or why it cannot. */
async function findInvitation(
  transaction: Transaction,
  token: string,
): Promise<Tables['board_invitations'] | RefusedInvitation> {
  const invitation = await transaction
    .selectFrom('board_invitations')
    .selectAll()
    .where('token_hash', '=', hashSecret(token))
    .executeTakeFirst();
  if (!invitation) return { refused: 'unknown' };
  const { account, project_id, queue_id, expires_at, used_at } = invitation;
  if (used_at !== null) return { refused: 'used', account, project_id, queue_id };
  const isExpired = expires_at <= new Date().toISOString();
  return isExpired ? { refused: 'expired', account, project_id, queue_id } : invitation;
}

async function useInvitation(transaction: Transaction, token: string, replaced?: string): Promise<UsedInvitation> {
  const found = await findInvitation(transaction, token);
  if ('refused' in found) return found;
  const { token_hash, account, project_id: project, queue_id: queue } = found;
  await transaction
    .updateTable('board_invitations')
    .set({ used_at: new Date().toISOString() })
    .where('token_hash', '=', token_hash)
    .execute();
  return { session: await startSession(transaction, account, replaced), project, queue };
}

/** Starts a session with a new secret, never with one that the browser brings. */
async function startSession(transaction: Transaction, account: string, replaced?: string): Promise<NewSession> {
  const token = randomSecret();
  const now = Date.now();
  const created_at = new Date(now).toISOString();
  await transaction.deleteFrom('board_sessions').where('expires_at', '<=', created_at).execute();
  if (replaced !== undefined) await endSession(transaction, replaced);
  const expires_at = new Date(now + sessionMs).toISOString();
  await transaction
    .insertInto('board_sessions')
    .values({ token_hash: hashSecret(token), account, created_at, expires_at })
    .execute();
  return { token, maxAgeSeconds: sessionMs / 1000, account };
}

async function endSession(transaction: Transaction, token: string): Promise<void> {
  await transaction.deleteFrom('board_sessions').where('token_hash', '=', hashSecret(token)).execute();
}

/**
 * Ends all sessions of an account, or of every account, and the invitations. Returns how many browsers were logged in, and how many
 * invitations could still be used.
 */
export function endSessionsOf(
  database: Database,
  account?: string,
): Promise<{ sessions: number; invitations: number }> {
  return database.write(async (transaction) => {
    if (account !== undefined) await checkAccount(transaction, account);
    let invitations = transaction.deleteFrom('board_invitations');
    let sessions = transaction.deleteFrom('board_sessions');
    if (account !== undefined) {
      invitations = invitations.where('account', '=', account);
      sessions = sessions.where('account', '=', account);
    }
    const open = invitations.where('used_at', 'is', null).where('expires_at', '>', new Date().toISOString());
    const withdrawn = await open.executeTakeFirstOrThrow();
    await invitations.execute();
    const ended = await sessions.executeTakeFirstOrThrow();
    return { sessions: Number(ended.numDeletedRows), invitations: Number(withdrawn.numDeletedRows) };
  });
}

async function isAccount(transaction: Transaction, name: string): Promise<boolean> {
  return (
    (await transaction.selectFrom('accounts').select('name').where('name', '=', name).executeTakeFirst()) !== undefined
  );
}
