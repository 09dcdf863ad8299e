import * as z from 'zod';
import { endpoint, noProject } from './endpoint.ts';

const name = z.string().min(1).nullish();
const named = z.looseObject({ name: z.string() });
const project = z.looseObject({ name: z.string() }).nullable();

/** The operation with which the Python SDK begins. */
export const graphqlEndpoints = {
  answerGraphql: endpoint({
    summary: 'Answer what the Python SDK asks by GraphQL',
    description:
      'Three documents are known: the one that reads a project (project), the one that creates it (upsertModel), and the one that reads the account (viewer).',
    path: '/graphql',
    // A project that the account may not see is null.
    projects: noProject,
    request: z.object({
      query: z.string().max(10_000).describe('The document.'),
      variables: z.looseObject({ name, entityName: name, entity: name }).nullish(),
    }),
    response: z.looseObject({
      data: z.looseObject({
        project: project.optional(),
        upsertModel: z.looseObject({ model: project, project, inserted: z.boolean() }).optional(),
        viewer: z.looseObject({ username: z.string(), defaultEntity: named }).optional(),
      }),
    }),
  }),
};
