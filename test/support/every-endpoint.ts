import type { Endpoint } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { classMembers } from '../../src/contract/objects.ts';
import { comparisonScorerClass } from '../../src/contract/scorers.ts';
import { type Answer, basic, type TestService, withStore } from './embedded-service.ts';
import { sampleOf } from './sample-of.ts';

/** The project that batches name beside that of the request. */
export const openProject = 'acme/open';

/** Ids of one project's data. */
export interface Ids {
  queue: string;
  item: string;
  call: string;
  feedback: string;
  object: string;
  digest: string;
  table: string;
  row: string;
  file: string;
  evaluation: string;
  model: string;
  run: string;
  prediction: string;
  score: string;
}
export type Body = Record<string, unknown>;

type Post = (path: string, body: Body) => Promise<Answer['body']>;

/** Returns a function that sends requests which must succeed. */
const postTo =
  (service: TestService): Post =>
  async (path, body) => {
    const answer = await service.send('POST', path, basic, body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };

/** Fills a project with something of every kind, all of whose texts contain `text`. */
export async function fillProject(service: TestService, project_id: string, text: string): Promise<Ids> {
  const post = postTo(service);
  const call = `call-${text}`;
  const started = '2026-01-01T00:00:00Z';
  const line = { call_id: call, call_op_name: `op-${text}`, call_trace_id: `trace-${text}`, call_started_at: started };
  const ofCall = { inputs: { question: text }, output: text };
  const lines = [JSON.stringify({ ...line, call: ofCall, display_fields: ['inputs.question'] })];
  const queue = `queue-${text}`;
  await withStore(service.data, async (store) => {
    await store.importItems(lines, { projectId: project_id, queueId: queue, addedBy: `import-${text}` });
    await store.putObject('prompt', project_id, `prompt-${text}`, [{ role: 'system', content: text }]);
  });
  const { items } = await post(`/annotation_queues/${queue}/items/query`, { project_id });
  const object = `object-${text}`;
  const obj = { project_id, object_id: object, val: { text, rows: [] }, builtin_object_class: 'Dataset' };
  const { digest } = await post('/obj/create', { obj });
  const { digest: table, row_digests } = await post('/table/create', { table: { project_id, rows: [{ text }] } });
  const stored = await service.upload(basic, { project_id, file: text });
  const { id } = await post('/feedback/create', {
    project_id,
    ...feedbackOn(project_id, call),
    payload: { note: text },
  });
  return {
    queue,
    item: items[0].id,
    call,
    feedback: id,
    object,
    digest,
    table,
    row: row_digests[0],
    file: stored.body.digest,
    ...(await recordRun(post, project_id, text, digest)),
  };
}

/** Stores an evaluation and a model, and records a run with a prediction and a score. */
async function recordRun(post: Post, project_id: string, text: string, dataset: string) {
  const of = (name: string, digest: string) => `weave:///${project_id}/object/${name}-${text}:${digest}`;
  const v2 = (path: string, body: Body) => post(`/v2/${project_id}/${path}`, body);
  const definition = { name: `evaluation-${text}`, dataset: of('object', dataset) };
  const { evaluation_ref: evaluation } = await v2('evaluations', definition);
  const builtin_object_class = 'LLMStructuredCompletionModel';
  const obj = { project_id, object_id: `model-${text}`, val: { llm_model_id: text }, builtin_object_class };
  const model = of('model', (await post('/obj/create', { obj })).digest);
  const { evaluation_run_id } = await v2('evaluation_runs', { evaluation, model });
  const { prediction_id } = await v2('predictions', { model, inputs: { text }, output: text, evaluation_run_id });
  const scored = { prediction_id, scorer: of('object', dataset), value: text, evaluation_run_id };
  const { score_id } = await v2('scores', scored);
  const scorer = { ...jsonScorer, name: text };
  await post('/obj/create', { obj: { project_id, object_id: `scorer-${text}`, val: scorer } });
  await v2(`evaluation_runs/${evaluation_run_id}/finish`, {});
  return { evaluation, model, run: evaluation_run_id, prediction: prediction_id, score: score_id };
}

const jsonScorer = { ...classMembers('Scorer', comparisonScorerClass), kind: 'json_valid' };

export function feedbackOn(project: string, call: string): Body {
  return { weave_ref: `weave:///${project}/call/${call}`, feedback_type: 'mood', payload: {} };
}

function startOf(project_id: string, id: string): Body {
  const started_at = '2026-01-01T00:00:00Z';
  return { project_id, id, op_name: 'op', trace_id: 't', started_at, attributes: {}, inputs: {} };
}

function endOf(project_id: string, id: string): Body {
  return { project_id, id, ended_at: '2026-01-01T00:00:01Z', output: 1, summary: {} };
}

const byId = (id: string): Body => ({ $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } });
/** Returns the reference to the object of a project. */
export const reference = (project: string, { object, digest }: Ids): string =>
  `weave:///${project}/object/${object}:${digest}`;
const scorerReference = (project: string, { object }: Ids): string =>
  `weave:///${project}/object/${object.replace('object', 'scorer')}:latest`;
/** The requests that ask for more than {@link contentOf} takes from their schemas, or that name something by another word. */
const requests: { [Name in EndpointName]?: (project_id: string, named: Ids) => Body } = {
  runInference: (project, { object }) => ({
    model: 'heddle/echo',
    prompt: `weave:///${project}/object/${object.replace('object', 'prompt')}:latest`,
  }),
  readReferences: (project, named) => ({
    refs: [
      reference(project, named),
      `${reference(project, named)}/attr/text`,
      `weave:///${project}/table/${named.table}/id/${named.row}`,
      `weave:///${project}/table/${named.table}/index/0`,
    ],
  }),
  answerGraphql: (project_id) => ({
    query: 'query Project { project { name } }',
    variables: { entityName: project_id.split('/')[0], name: project_id.split('/')[1] },
  }),
  callsStats: (project_id) => ({ project_id, start: '2026-01-01T00:00:00Z', end: '2026-01-02T00:00:00Z' }),
  callsUsage: (project_id, { call }) => ({ project_id, call_ids: [call] }),
  traceUsage: (project_id) => ({ project_id }),
  queryThreads: (project_id) => ({ project_id }),
  updateQueue: (project_id) => ({ project_id, name: 'Changed' }),
  assignQueueItems: (project_id, { item }) => ({ project_id, item_ids: [item], assignees: [] }),
  queryQueueItems: (project_id) => ({ project_id, include_position: true }),
  updateProgress: (project_id) => ({ project_id, annotation_state: 'completed' }),
  updateProgressBatch: (project_id) => ({ project_id, updates: [] }),
  readCall: (project_id, { call }) => ({ project_id, id: call }),
  queryCalls: (project_id) => ({ project_id, expand_columns: ['inputs.question'] }),
  recordCalls: (project_id, { call }) => ({
    batch: [
      { mode: 'start', req: { start: startOf(openProject, 'new') } },
      { mode: 'end', req: { end: endOf(project_id, call) } },
    ],
  }),
  startCall: (project_id, { call }) => ({ start: startOf(project_id, call) }),
  endCall: (project_id, { call }) => ({ end: endOf(project_id, call) }),
  startCallInProject: (project_id, { call }) => ({ start: startOf(project_id, call) }),
  endCallInProject: (project_id, { call }) => ({ end: endOf(project_id, call) }),
  completeCalls: (project_id, { call }) => ({ batch: [{ ...startOf(project_id, call), ...endOf(project_id, call) }] }),
  updateCall: (project_id, { call }) => ({ project_id, call_id: call, display_name: 'New' }),
  createFeedback: (project_id, { call, queue }) => ({ project_id, ...feedbackOn(project_id, call), queue_id: queue }),
  createFeedbackBatch: (project_id, { call }) => ({
    batch: [
      { project_id: openProject, ...feedbackOn(openProject, call) },
      { project_id, ...feedbackOn(project_id, call) },
    ],
  }),
  replaceFeedback: (project_id, { call, feedback }) => ({
    project_id,
    ...feedbackOn(project_id, call),
    feedback_id: feedback,
  }),
  purgeFeedback: (project_id, { feedback }) => ({ project_id, query: byId(feedback) }),
  purgeCosts: (project_id, { feedback }) => ({ project_id, query: byId(feedback) }),
  deleteObject: (project_id, { object }) => ({ project_id, object_id: object }),
  updateTable: (project_id, { table }) => ({
    project_id,
    base_digest: table,
    updates: [{ append: { row: { question: 'new' } } }],
  }),
  queryTable: (project_id, { table }) => ({ project_id, digest: table }),
  createTableFromDigests: (project_id, { row }) => ({ project_id, row_digests: [row, row] }),
  countTableRows: (project_id, { table }) => ({ project_id, digest: table }),
  createDataset: () => ({ name: 'new', rows: [{ question: 'new' }] }),
  countRowsOfTables: (project_id, { table }) => ({ project_id, digests: [table] }),
  createFile: (project_id) => ({ project_id, file: 'new' }),
  readFile: (project_id, { file }) => ({ project_id, digest: file }),
  rescoreEvaluation: (project_id, named) => ({
    project_id,
    source_evaluation_run_id: named.run,
    scorer_refs: [scorerReference(project_id, named)],
  }),
  resumeEvaluation: (project_id, { run }) => ({ project_id, call_id: run }),
  scoreCalls: (project_id, named) => ({
    project_id,
    call_ids: [named.prediction],
    scorer_refs: [scorerReference(project_id, named)],
  }),
  tryScorer: (project_id, { prediction }) => ({
    project_id,
    scorer: jsonScorer,
    rows: [{ call_id: prediction }],
  }),
  evaluationStatus: (project_id, { run }) => ({ project_id, call_id: run }),
  cancelEvaluation: (project_id, { run }) => ({ project_id, call_id: run }),
  listEvaluationRuns: (_, { run }) => ({ evaluation_run_ids: run }),
  queryEvaluationResults: (_, { run }) => ({
    evaluation_run_ids: [run],
    include_summary: true,
    include_raw_data_rows: true,
  }),
};

/** Returns the content of a request to an endpoint that names a project and ids of one: a sample of its schema, unless `requests` has it. */
export function contentOf(name: EndpointName, project: string, named: Ids): Body {
  const given = requests[name]?.(project, named);
  const { request, query }: Endpoint = endpoints[name];
  const schema = request ?? query;
  if (given || !schema) return given ?? {};
  const { evaluation, model } = named;
  const values = {
    project_id: project,
    queue_id: named.queue,
    call_id: named.call,
    feedback_id: named.feedback,
    object_id: named.object,
    digest: named.digest,
    evaluation,
    evaluation_ref: evaluation,
    evaluation_run_id: named.run,
    model,
    model_ref: model,
    prediction_id: named.prediction,
    scorer: reference(project, named),
    dataset: reference(project, named),
  };
  return sampleOf(schema, new Map(Object.entries(values))) as Body;
}

/**
 * Sends the request of {@link contentOf} to an endpoint, as an account.
 * @param change changes its content.
 */
export function sendRequest(
  service: TestService,
  name: EndpointName,
  {
    project,
    named,
    account: { password, token },
  }: { project: string; named: Ids; account: { password: string; token: string } },
  change: (content: Body) => Body = (content) => content,
): ReturnType<TestService['send']> {
  const { method, path, auth, request, query, form }: Endpoint = endpoints[name];
  const [entity = '', ...rest] = project.split('/').map(encodeURIComponent);
  const { queue: queue_id, item: item_id } = named;
  const values: Record<string, string> = {
    entity,
    project: rest.join('%2F'),
    queue_id,
    item_id,
    evaluation_run_id: named.run,
    prediction_id: named.prediction,
    score_id: named.score,
    object_id: named.object,
    digest: named.digest,
    'path*': name === 'readModel' ? '/heddle/echo' : '/chat/completions',
  };
  const filled = path.replaceAll(/\{([\w*]+)\}/g, (_, key: string) => values[key]!);
  const content = change(contentOf(name, project, named));
  const search = query ? `?${new URLSearchParams(content as Record<string, string>)}` : '';
  const authorization = auth === 'basic' ? `Basic ${btoa(`:${password}`)}` : `Bearer ${token}`;
  if (form) return service.upload(authorization, content as { project_id: string; file: string });
  return service.send(method, filled + search, authorization, request && content);
}
