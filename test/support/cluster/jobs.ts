import { itemsEach, type Subject } from './machines.ts';
import type { Structured } from './retrying-client.ts';

/** A call to make, and the values by which its result differs from all other calls. */
export interface Job {
  tool: string;
  args: Record<string, unknown>;
  /** Returns pairs of an actual and an expected value. */
  expected: (result: Structured) => [actual: unknown, expected: unknown][];
  /** For writes: a text that no other call has. */
  mark?: string;
  /** The subject lacks the scope for this call. */
  refused?: true;
}

/** A finished call. */
export interface Done extends Job {
  subject: string;
  /** Absent if every attempt failed. */
  result?: Structured;
  /** Messages of the failed attempts. */
  failures: string[];
  /** It was running while a process was killed. */
  aroundKill: boolean;
}

/** Unjudged items of a subject; each is used for one call. */
export type Items = { id: string }[];

/** The kinds of calls of a subject, in order. Half of them write, if the subject may. */
const cycle = [
  'query',
  'infer',
  'update',
  'page',
  'create',
  'read',
  'version',
  'queues',
  'infer stream',
  'objects',
] as const;

/** Returns the next call of a subject. `sequence` is its number among the subject's calls, from 0. */
export function jobOf({ name, project, readsOnly }: Subject, sequence: number, items: Items): Job {
  const mark = `${name} ${sequence}`;
  const number = (sequence * 7) % itemsEach;
  const dataset = `weave:///${project}/object/rows:latest`;
  let kind: (typeof cycle)[number] = cycle[sequence % cycle.length]!;
  if (readsOnly && ['infer', 'update', 'version', 'infer stream'].includes(kind)) kind = 'query';
  switch (kind) {
    case 'query':
      return {
        tool: 'query_queue_items',
        args: {
          queue_id: 'work',
          filter: { call_id: `call-${number}` },
          include_position: true,
          include_call: true,
          fields: ['*'],
        },
        expected: ({ items: [item, ...others] }) => [
          [item.project_id, project],
          [item.call_id, `call-${number}`],
          [item.call_op_name, `operation of ${name}`],
          [item.position_in_queue, number + 1],
          [JSON.stringify(item).includes(`question ${number} of ${name}`), true],
          [others, []],
        ],
      };
    case 'page':
      return {
        tool: 'query_queue_items',
        args: { queue_id: 'work', limit: 10, offset: number, fields: ['*'] },
        expected: ({ items: page }) => [
          [[...new Set(page.map((item: Structured) => item.project_id))], [project]],
          [page[0].call_id, `call-${number}`],
        ],
      };
    case 'read':
      return {
        tool: 'read_call',
        args: { call_id: `call-${number}` },
        expected: ({ call }) => [[call.inputs, { question: `question ${number} of ${name}` }]],
      };
    case 'queues':
      return {
        tool: 'list_queues',
        args: {},
        expected: ({ queues }) => [[queues.map((queue: Structured) => [queue.id, queue.total]), [['work', itemsEach]]]],
      };
    case 'objects':
      return {
        tool: 'list_objects',
        args: { kind: 'dataset' },
        expected: ({ objects }) => [
          [
            objects.map(({ reference }: Structured) => reference.replace(/:\w+$/, '')),
            [`weave:///${project}/object/rows`],
          ],
        ],
      };
    case 'infer':
    case 'infer stream':
      return {
        tool: 'run_inference',
        mark,
        args: {
          model: 'repeat',
          prompt: `weave:///${project}/object/ask:latest`,
          messages: [{ role: 'user', content: mark }],
          ...(kind === 'infer stream' && { stream: true }),
        },
        expected: ({ response }) => [[response.choices[0].message.content, `prompt of ${name}\n${mark}`]],
      };
    case 'create':
      return {
        tool: 'create_evaluation',
        mark,
        args: { name: `Evaluation ${sequence}`, dataset, description: mark },
        ...(readsOnly && { refused: true as const }),
        expected: ({ evaluation_ref, version_index, digest }) => [
          [evaluation_ref, `weave:///${project}/object/evaluation_${sequence}:${digest}`],
          [version_index, 0],
        ],
      };
    case 'version':
      return {
        tool: 'create_evaluation',
        mark,
        args: { name: 'Shared', dataset, description: mark },
        expected: ({ evaluation_ref, digest }) => [[evaluation_ref, `weave:///${project}/object/shared:${digest}`]],
      };
    case 'update': {
      const item = items.pop()!;
      return {
        tool: 'update_queue_items',
        mark,
        args: {
          queue_id: 'work',
          items: [
            {
              item_id: item.id,
              annotation_state: 'completed',
              judgements: { mark },
            },
          ],
        },
        expected: ({ items: [{ item_id, result, annotation_state }], counts }) => [
          [item_id, item.id],
          [['done', 'unchanged'].includes(result), true],
          [annotation_state, 'completed'],
          [counts, { [result]: 1 }],
        ],
      };
    }
  }
}
