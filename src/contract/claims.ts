import * as z from 'zod';
import { endpoint, projectInBody } from './endpoint.ts';
import { projectId } from './identifiers.ts';
import { queueItem, queueItemsFilter } from './queue-items.ts';
import { assignees, reviewersPerItem } from './queues.ts';

/** What an annotator is: a person, or a program that judges for one. */
export const annotatorKinds = ['person', 'agent'] as const;
export type AnnotatorKind = (typeof annotatorKinds)[number];

/** The orders in which items are claimed, by the time at which they were added to the queue. */
export const claimOrders = ['oldest', 'newest'] as const;

/** Most items that one annotator holds in a queue. */
export const maxHeld = 1000;

/** The operations on claims: which annotator has which items for some minutes. They belong to the embedded service. */
export const claimEndpoints = {
  claimQueueItems: endpoint({
    summary: 'Claim items of a queue',
    description:
      'An extension of the embedded service. Holds items for the caller for some minutes: only items that still want an opinion, counting those given and the claims of others, and that the caller neither has finished nor holds. With prolong, the caller keeps what it holds, also after a claim has ended if no one else needs the item; those items count towards n and come with the others. Completing or skipping an item ends its claim.',
    path: '/annotation_queues/{queue_id}/claims',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      n: z.int().min(0).max(maxHeld).describe('Number of items to claim or, with prolong, to hold in all.'),
      minutes: z
        .number()
        .positive()
        .max(24 * 60)
        .describe('Time until the claims end, by the clock of the database.'),
      as: z.enum(annotatorKinds).describe('Whether the caller counts as a person or as an agent.'),
      annotator: z
        .string()
        .min(1)
        .max(256)
        .nullish()
        .describe('Name of one of several annotators that share the account, where the project has no accounts.'),
      filter: queueItemsFilter.nullish().describe('Claim only items that match every member.'),
      order: z.enum(claimOrders).nullish().describe('oldest by default.'),
      reviewers_per_item: reviewersPerItem
        .nullish()
        .describe('Opinions that an item wants, in a queue that does not say it; 1 by default.'),
      release: z.array(z.string()).max(maxHeld).nullish().describe('Items to give back first.'),
      prolong: z.boolean().nullish().describe('Keep what the caller holds.'),
    }),
    response: z.looseObject({
      items: z.array(queueItem),
      held_until: z.string().describe('When the claims end.'),
      released: z.int().optional().describe('Number of items given back, if some were to be.'),
      free_at: z
        .string()
        .nullish()
        .describe('When the first claim of another annotator ends, if fewer items than n were free.'),
    }),
    writes: true,
    // Repeated, a claim would hold further items.
    repeatable: false,
  }),
  assignQueueItems: endpoint({
    summary: 'Assign items of a queue',
    description:
      'An extension of the embedded service. Only the assignees may claim the items, whoever the queue is assigned to. An empty list leaves that to the queue again. Unknown items are ignored. In a project that has accounts, each assignee must be one of them.',
    path: '/annotation_queues/{queue_id}/items/assignees',
    projects: projectInBody,
    request: z.object({
      project_id: projectId,
      item_ids: z.array(z.string()).max(1000),
      assignees,
    }),
    response: z.looseObject({}),
    writes: true,
    repeatable: true,
  }),
};
