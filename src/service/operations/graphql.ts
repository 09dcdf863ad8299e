import { splitProjectId } from '../../contract/identifiers.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { grantedProjects } from '../admin/accounts.ts';
import type { Database } from '../storage/database.ts';
import type { OperationHandler } from './operation.ts';
import { projectIds } from './projects.ts';

/**
 * Answers the documents with which the Python SDK begins: it looks for a project, creates it if there is none, and asks for the
 * account. A project that the account may see needs no creation.
 * @throws Refusal 400 for another document, 403 for a project to create that the account may not see.
 */
export const answerGraphql: OperationHandler<'answerGraphql'> = async ({ body, account, maySee }, { database }) => {
  const { name = '', entityName, entity } = body.variables ?? {};
  const owner = entityName ?? entity ?? '';
  const project = maySee(`${owner}/${name}`) ? { name: name ?? '', entityName: owner, entity: { name: owner } } : null;
  if (/\bupsertModel\b/.test(body.query)) {
    if (!project) throw new Refusal(403, 'Forbidden');
    const model = { ...project, id: `${owner}/${name}`, description: null };
    return { data: { upsertModel: { model, project: model, inserted: false } } };
  }
  if (/\bviewer\b/.test(body.query)) {
    const viewer = { username: account, defaultEntity: { name: await defaultEntity(database, account) } };
    return { data: { viewer } };
  }
  if (/\bproject\b/.test(body.query)) return { data: { project: project && { name: project.name } } };
  const errors = [{ message: 'This service knows only the documents project, upsertModel and viewer' }];
  throw new Refusal(400, errors[0]!.message, { body: { errors } });
};

/** Returns the entity of the first project that an account was granted; of the first that there is, if it sees all; else the account. */
async function defaultEntity(database: Database, account: string): Promise<string> {
  return database.read(async (transaction) => {
    const granted = (await grantedProjects(transaction, account)).filter((id) => id.includes('/'));
    const [first] = granted.length > 0 ? granted : await projectIds(transaction);
    return first === undefined ? account : splitProjectId(first).entity;
  });
}
