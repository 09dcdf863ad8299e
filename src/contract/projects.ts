import * as z from 'zod';

/** The projects of a service, and the number of queues that each has. The public service has no such list. */
export const listProjectsResponse = z.looseObject({
  projects: z.array(z.looseObject({ project_id: z.string(), queues: z.int() })),
});
export type ListProjectsResponse = z.infer<typeof listProjectsResponse>;
