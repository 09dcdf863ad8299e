import * as z from 'zod';
import { endpoint, noProject } from './endpoint.ts';

export const projectEndpoints = {
  listProjects: endpoint({
    summary: 'List the projects',
    description: 'An extension of the embedded service.',
    method: 'GET',
    path: '/projects',
    projects: noProject,
    response: z.looseObject({ projects: z.array(z.looseObject({ project_id: z.string(), queues: z.int() })) }),
  }),
};
