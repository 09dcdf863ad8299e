import { itemsEach, type Subject } from './machines.ts';
import type { Structured } from './retrying-client.ts';

/** One call to make, and how its answer is told from every other call's and every other subject's. */
export interface Job {
  tool: string;
  args: Record<string, unknown>;
  /** What only the right answer has: pairs of what came and what had to come. */
  expected: (result: Structured) => [came: unknown, wanted: unknown][];
  /** For writes: unlike any other call's. */
  mark?: string;
  /** The subject may not do this. */
  refused?: true;
}

/** A call that has its outcome. */
export interface Done extends Job {
  subject: string;
  /** Absent where the call failed in the end. */
  result?: Structured;
  /** What its attempts failed with. */
  failures: string[];
  /** It was under way between a kill and the end of the killed process. */
  aroundKill: boolean;
}

/** Items of a subject that nobody has judged; each is taken for one call. */
export type Items = { id: string }[];

/** Calls in the order in which a subject makes them, from 0. Half of them change something, if the subject may. */
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

/** The next call of a subject. `sequence` is its number among all calls of the subject. */
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
        args: { queue_id: 'work', filter: { call_id: `call-${number}` }, include_position: true, include_call: true },
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
        args: { queue_id: 'work', limit: 10, offset: number },
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
        expected: ({ queues }) => [
          [
            queues.map((queue: Structured) => [queue.id, queue.project_id, queue.total_items]),
            [['work', project, itemsEach]],
          ],
        ],
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
        expected: ({ text }) => [[text, `prompt of ${name}\n${mark}`]],
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
              feedback: { name: 'mark', value: mark },
              expected_state: 'unstarted',
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
