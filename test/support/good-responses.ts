import type * as z from 'zod';
import { type Endpoint, type EndpointName, endpoints } from '../../src/contract/endpoints.ts';

const time = '2025-04-07T14:39:02.000Z';
const item = {
  id: 'i1',
  project_id: 'a/b',
  queue_id: 'q',
  call_id: 'c1',
  call_started_at: time,
  call_op_name: 'op',
  call_trace_id: 't',
  display_fields: ['inputs.question'],
  annotation_state: 'unstarted' as const,
  created_at: time,
  created_by: 'me',
  updated_at: time,
};
const queue = {
  id: 'q',
  project_id: 'a/b',
  name: 'Q',
  scorer_refs: [],
  created_at: time,
  created_by: 'me',
  updated_at: time,
};
const call = { id: 'c1', inputs: { question: 'Why?' }, output: 'Because.' };
const storedObject = { object_id: 'd', digest: 'x', version_index: 0 };
const objectVersion = {
  ...storedObject,
  project_id: 'a/b',
  is_latest: 1,
  kind: 'object',
  base_object_class: 'Dataset',
  val: {},
};

/** A valid response body for every endpoint; for endpoints that respond with lines, the only line. */
const goodBodies: { [Name in EndpointName]: z.input<(typeof endpoints)[Name]['response']> } = {
  queryQueueItems: { items: [item] },
  runInference: {
    id: 'r1',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  listModels: { object: 'list', data: [{ id: 'm' }] },
  createEvaluation: { digest: 'x', object_id: 'e', version_index: 0, evaluation_ref: 'weave:///a/b/object/e:x' },
  queryQueues: queue,
  queueStats: { stats: [{ queue_id: 'q', total_items: 1, completed_items: 0 }] },
  readQueue: { queue },
  createQueue: { id: 'q' },
  updateQueue: { queue },
  deleteQueue: { queue },
  addQueueItems: { added_count: 1, duplicates: 0 },
  updateProgress: { item: { ...item, annotation_state: 'completed' } },
  readCall: { call },
  queryCalls: call,
  countCalls: { count: 1 },
  createFeedback: { id: 'f1', created_at: time, payload: {} },
  createFeedbackBatch: { res: [{ id: 'f1', created_at: time, payload: {} }] },
  queryFeedback: { result: [] },
  purgeFeedback: {},
  createObject: { digest: 'x', object_id: 'd' },
  readObject: { obj: objectVersion },
  queryObjects: { objs: [objectVersion] },
  readReferences: { vals: [] },
  listEvaluations: storedObject,
  listDatasets: storedObject,
  listScorers: storedObject,
};

const routes = Object.entries(endpoints as Record<EndpointName, Endpoint>).map(([name, { method, path, lines }]) => {
  const pattern = path.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll(/\{\w+\*\}/g, '(/.*)?');
  return { name: name as EndpointName, method, pattern: new RegExp(`${pattern}$`), lines };
});

/**
 * Returns the response of a working service to a request; `{}` for a path that is not in the interface. Inference is also at
 * `/v1`, as at an address of its own.
 */
export function goodResponse({ method, path }: { method: string; path: string }): {
  contentType: string;
  body: string;
} {
  const [pathname = ''] = path.replace(/^\/v1\//, '/inference/v1/').split('?');
  const matching = routes.filter((route) => route.method === method && route.pattern.test(pathname));
  // `/inference/v1/models` also matches the path of inference; the endpoint with the literal path is meant.
  const route = matching.find(({ pattern }) => !pattern.source.includes('.*')) ?? matching[0];
  if (!route) return { contentType: 'application/json', body: '{}' };
  const body = JSON.stringify(goodBodies[route.name]);
  return route.lines
    ? { contentType: 'application/x-ndjson', body: `${body}\n` }
    : { contentType: 'application/json', body };
}
