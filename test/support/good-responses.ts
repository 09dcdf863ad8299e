import type * as z from 'zod';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { sampleOf } from './sample-of.ts';

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
const run = { evaluation_run_id: 'r1', evaluation: 'weave:///a/b/object/e:x', model: 'weave:///a/b/object/m:y' };
const objectVersion = {
  ...storedObject,
  project_id: 'a/b',
  is_latest: 1,
  kind: 'object',
  base_object_class: 'Dataset',
  val: {},
};

/** The contents of every object that is read: a tool finds a dataset as well as an evaluation in it. */
const datasetAndEvaluation = {
  _class_name: 'Evaluation',
  dataset: 'weave:///a/b/object/d:x',
  rows: [{ question: 'Why?' }],
};

/**
 * The response bodies that belong together, so that tools find in one what another names; for endpoints that respond with lines, the
 * only line. The others are samples of their schemas.
 */
const goodBodies: { [Name in EndpointName]?: z.input<(typeof endpoints)[Name]['response']> } = {
  queryQueueItems: { items: [item] },
  runInference: {
    id: 'r1',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  },
  listModels: { object: 'list', data: [{ id: 'm' }, { id: 'heddle/echo' }] },
  createEvaluation: { digest: 'x', object_id: 'e', version_index: 0, evaluation_ref: 'weave:///a/b/object/e:x' },
  listProjects: { projects: [{ project_id: 'a/b', queues: 1 }] },
  queryQueues: queue,
  queueStats: { stats: [{ queue_id: 'q', total_items: 1, completed_items: 0 }] },
  readQueue: { queue },
  createQueue: { id: '0198b3c0-5a1e-7d30-8c44-1f2e3d4c5b6a' },
  addQueueItems: { added_count: 1, duplicates: 0 },
  removeQueueItems: { removed_count: 1 },
  summarizeQueueItems: { groups: [{ call_op_name: 'op', annotation_state: 'unstarted', count: 1 }], judgements: [] },
  updateProgress: { item: { ...item, annotation_state: 'completed' } },
  updateProgressBatch: { results: [{ item: { ...item, annotation_state: 'completed' } }] },
  readCall: { call },
  queryCalls: call,
  createFeedback: { id: 'f1', created_at: time, payload: {} },
  createFeedbackBatch: { res: [{ id: 'f1', created_at: time, payload: {} }] },
  queryFeedback: { result: [] },
  createObject: { digest: 'x', object_id: 'new-object' },
  readObject: { obj: { ...objectVersion, val: datasetAndEvaluation } },
  queryObjects: { objs: [objectVersion] },
  readReferences: { vals: [] },
  createTable: { digest: 'x', row_digests: ['y'] },
  queryTable: { rows: [{ digest: 'y', val: { question: 'Why?' }, original_index: 0 }] },
  evaluateModel: { call_id: 'r1' },
  evaluationStatus: { status: { code: 'complete', output: {} } },
  cancelEvaluation: { status: { code: 'failed', error: 'Cancelled' } },
  listEvaluationRuns: run,
  readEvaluationRun: run,
  queryEvaluationResults: {
    rows: [
      {
        row_digest: 'y',
        raw_data_row: { question: 'Why?' },
        evaluations: [
          {
            evaluation_call_id: 'r1',
            trials: [
              { predict_and_score_call_id: 'c1', predict_call_id: 'c2', model_output: 'Because.', scores: { s: true } },
            ],
          },
        ],
      },
    ],
    total_rows: 1,
    summary: {
      row_count: 1,
      evaluations: [
        {
          evaluation_call_id: 'r1',
          trial_count: 1,
          scorer_stats: [
            {
              scorer_key: 's',
              value_type: 'binary',
              trial_count: 1,
              pass_true_count: 1,
              pass_known_count: 1,
              pass_rate: 1,
            },
          ],
        },
      ],
    },
    warnings: [],
  },
  listEvaluations: storedObject,
  listDatasets: storedObject,
  listScorers: storedObject,
};

const routes = Object.entries(endpoints as Record<EndpointName, Endpoint>).map(([name, { method, path, lines }]) => {
  const pattern = path.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll(/\{\w+\*\}/g, '(/.*)?');
  return { name: name as EndpointName, method, pattern: new RegExp(`${pattern}$`), lines };
});

/** Returns the endpoint that a request is for; undefined for a path that is not in the interface. */
export function routeOf({ method, path }: { method: string; path: string }): (typeof routes)[number] | undefined {
  const [pathname = ''] = path.replace(/^\/v1\//, '/inference/v1/').split('?');
  const matching = routes.filter((route) => route.method === method && route.pattern.test(pathname));
  // `/inference/v1/models` also matches the path of inference; the endpoint with the literal path is meant.
  return matching.find(({ pattern }) => !pattern.source.includes('.*')) ?? matching[0];
}

/** The classes of objects of examples that are no datasets, by name. */
const classes = [
  ['names_label', 'Scorer'],
  ['triage', 'Prompt'],
] as const;

/** Returns a valid response body of an endpoint, or the only line of it. */
export function goodBody(name: EndpointName): unknown {
  return goodBodies[name] ?? sampleOf(endpoints[name].response);
}

/**
 * Returns the response of a working service to a request; `{}` for a path that is not in the interface. Inference is also at
 * `/v1`, as at an address of its own.
 */
export function goodResponse(request: { method: string; path: string; body?: string }): {
  contentType: string;
  body: string;
} {
  const route = routeOf(request);
  if (!route) return { contentType: 'application/json', body: '{}' };
  const json = JSON.stringify(goodBody(route.name));
  // Some objects of examples are read like everything else, but have classes of their own.
  const readsObjects = route.name === 'readObject' || route.name === 'queryObjects';
  const [, ofExample] = classes.find(([name]) => readsObjects && request.body?.includes(JSON.stringify(name))) ?? [];
  const body = ofExample ? json.replace('"Dataset"', JSON.stringify(ofExample)) : json;
  return route.lines
    ? { contentType: 'application/x-ndjson', body: `${body}\n` }
    : { contentType: 'application/json', body };
}
