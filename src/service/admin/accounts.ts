import { createHash, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { projectId } from '../../contract/identifiers.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { insertRows } from '../storage/insert-rows.ts';
import { checkArguments } from './check-arguments.ts';

/** An account with its secrets in plain text. */
export interface Account {
  name: string;
  password: string;
  token: string;
}

/** The projects that an account may see: those listed, or all. */
export type ProjectGrants = 'all' | readonly string[];

const projectHint = 'Write each project as entity/project.';

/** Stands for all projects in the table of grants. It cannot be the id of a project. */
export const everyProject = '*';

/**
 * Creates a stored account with random 256-bit secrets, of which the storage keeps only the hash.
 * @throws HeddleError `invalid_arguments` for a name or project that cannot be used, `conflict` for a name that is taken.
 */
export async function addAccount(database: Database, name: string, grants: ProjectGrants = []): Promise<Account> {
  const account = newAccount(name);
  const projects = storedGrants(grants, 'No account was created');
  const isNew = await database.write(async (transaction) => {
    if (!(await insertAccount(transaction, account))) return false;
    await insertGrants(transaction, name, projects);
    return true;
  });
  if (!isNew) {
    throw new HeddleError({
      code: 'conflict',
      message: `An account named ${name} already exists.`,
      hint: `Choose another name, or give it new secrets with \`heddle service renew-user ${name}\`: those of now cannot be shown again.`,
    });
  }
  return account;
}

/**
 * Gives an account new random secrets instead of its own, which no request may use any more; its sessions on the board stay.
 * @returns the account with its secrets, and the projects that it may see.
 * @throws HeddleError `invalid_arguments` for an unknown account.
 */
export async function renewAccount(database: Database, name: string): Promise<Account & { projects: ProjectGrants }> {
  const account = { name, password: randomSecret(), token: randomSecret() };
  const { password_hash, token_hash } = hashedAccount(account);
  const projects = await database.write(async (transaction) => {
    await checkAccount(transaction, name);
    await transaction.updateTable('accounts').set({ password_hash, token_hash }).where('name', '=', name).execute();
    return readGrants(transaction, name);
  });
  return { ...account, projects };
}

/**
 * Returns an account with new random secrets, which is not stored.
 * @throws HeddleError `invalid_arguments` for a name that cannot be used.
 */
function newAccount(name: string): Account {
  if (/^[\w.@-]{1,64}$/.test(name)) return { name, password: randomSecret(), token: randomSecret() };
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `${JSON.stringify(name)} cannot be the name of an account.`,
    hint: 'Use 1 to 64 letters, digits, dots, hyphens, underscores or @.',
  });
}

/**
 * Stores an account, and returns false if there is one with its name.
 * @throws HeddleError `conflict` for a name that differs only in case from that of another account.
 */
async function insertAccount(transaction: Transaction, account: Account): Promise<boolean> {
  const rows = await transaction.selectFrom('accounts').select('name').execute();
  const alike = rows.map(({ name }) => name).filter((name) => name.toLowerCase() === account.name.toLowerCase());
  if (alike[0] !== undefined && !alike.includes(account.name)) {
    const message = `No account was created: ${account.name} differs only in case from the account ${alike[0]}.`;
    const hint = `Use ${alike[0]} if that is the same person, or choose another name.`;
    throw new HeddleError({ code: 'conflict', message, hint });
  }
  const row = { ...hashedAccount(account), created_at: new Date().toISOString() };
  return (await insertRows(transaction, 'accounts', [row], ['name'])) > 0;
}

/**
 * Lets an account see a project, in a write transaction; creates the account if there is none, with secrets that nobody learns.
 * @throws HeddleError `invalid_arguments` for a name or project that cannot be used.
 */
export async function ensureAccount(transaction: Transaction, name: string, project: string): Promise<void> {
  const projects = storedGrants([project], 'Nobody was invited');
  await insertAccount(transaction, newAccount(name));
  if ((await readGrants(transaction, name)) !== 'all') await insertGrants(transaction, name, projects);
}

/**
 * Lets an account see more projects, and returns all that it may see from then on.
 * @throws HeddleError `invalid_arguments` for an unknown account, or a project that cannot exist.
 */
export async function grantProjects(database: Database, name: string, grants: ProjectGrants): Promise<ProjectGrants> {
  const projects = storedGrants(grants, 'Nothing was granted');
  return database.write(async (transaction) => {
    await checkAccount(transaction, name);
    await insertGrants(transaction, name, projects);
    return readGrants(transaction, name);
  });
}

/**
 * Takes projects back from an account, and returns those that it may still see. Taking back all projects leaves those that
 * were granted one by one.
 * @throws HeddleError `invalid_arguments` for an unknown account, `conflict` for one project of an account that sees all.
 */
export async function revokeProjects(database: Database, name: string, grants: ProjectGrants): Promise<ProjectGrants> {
  const projects = storedGrants(grants, 'Nothing was revoked');
  return database.write(async (transaction) => {
    await checkAccount(transaction, name);
    if (grants !== 'all' && (await readGrants(transaction, name)) === 'all') {
      throw new HeddleError({
        code: 'conflict',
        message: `Nothing was revoked: ${name} can see all projects, including these.`,
        hint: `Grant the projects that it should keep, then run \`heddle service revoke ${name} --all-projects\`.`,
      });
    }
    const revoked = transaction.deleteFrom('project_grants').where('account', '=', name);
    for (const project of projects) await revoked.where('project_id', '=', project).execute();
    return readGrants(transaction, name);
  });
}

/** Lists the stored accounts, with the projects that each may see. */
export async function listAccounts(
  transaction: Transaction,
): Promise<{ name: string; created_at: string; projects: ProjectGrants }[]> {
  const accounts = await transaction.selectFrom('accounts').select(['name', 'created_at']).orderBy('name').execute();
  const rows = await transaction.selectFrom('project_grants').selectAll().orderBy('project_id').execute();
  return accounts.map((account) => ({
    ...account,
    projects: grantsOf(rows.filter((row) => row.account === account.name).map(({ project_id }) => project_id)),
  }));
}

/** Returns what rows of the table of grants allow. */
export function grantsOf(projectIds: readonly string[]): ProjectGrants {
  return projectIds.includes(everyProject) ? 'all' : projectIds;
}

/** Returns the rows for grants; `consequence` starts the message of the error. */
function storedGrants(grants: ProjectGrants, consequence: string): string[] {
  if (grants === 'all') return [everyProject];
  for (const project of grants) checkArguments(z.object({ project: projectId }), { project }, consequence, projectHint);
  return [...grants];
}

async function insertGrants(transaction: Transaction, account: string, projects: readonly string[]): Promise<void> {
  const grants = projects.map((project_id) => ({ account, project_id }));
  await insertRows(transaction, 'project_grants', grants, ['account', 'project_id']);
}

/** Returns the projects that an account may see; none for an unknown account. */
export async function readGrants(transaction: Transaction, account: string): Promise<ProjectGrants> {
  return grantsOf(await grantedProjects(transaction, account));
}

/** Returns the project ids of an account's rows in the table of grants, sorted. */
export async function grantedProjects(transaction: Transaction, account: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom('project_grants')
    .select('project_id')
    .where('account', '=', account)
    .orderBy('project_id')
    .execute();
  return rows.map(({ project_id }) => project_id);
}

/** Returns the accounts that may see a project, by name; none if no account has a grant for it. */
export async function accountsOfProject(transaction: Transaction, projectId: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom('project_grants')
    .select('account')
    .distinct()
    .where('project_id', 'in', [projectId, everyProject])
    .orderBy('account')
    .execute();
  return rows.map(({ account }) => account);
}

export async function checkAccount(transaction: Transaction, name: string): Promise<void> {
  const account = await transaction.selectFrom('accounts').select('name').where('name', '=', name).executeTakeFirst();
  if (account) return;
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `There is no account named ${JSON.stringify(name)}.`,
    hint: '`heddle service list-users` lists the accounts; `heddle service add-user` creates one.',
  });
}

/** Returns an account in the form in which it is stored and looked up. */
export function hashedAccount({ name, password, token }: Account) {
  return { name, password_hash: hashSecret(password), token_hash: hashSecret(token) };
}

/** Returns the SHA-256 of a secret in hexadecimal. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Returns a new secret of 256 random bits. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}
