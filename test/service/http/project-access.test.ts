import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../../src/contract/endpoints.ts';
import { caseCount } from '../../support/cases.ts';
import {
  type Answer,
  basic,
  execute,
  startTestService,
  type TestService,
  withStore,
} from '../../support/embedded-service.ts';
import { sampleOf } from '../../support/sample-of.ts';
import { tally } from '../../support/tally.ts';

/** Occurs in every text of the hidden project, and nowhere else. */
const marker = 'quokka';
const hidden = 'acme/hidden';
const open = 'acme/open';
const missing = 'acme/missing';

/** Ids of one project's data. */
interface Ids {
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
type Body = Record<string, unknown>;

const service = await startTestService();
const ids = { [hidden]: await fill(hidden, marker), [open]: await fill(open, 'plain') };
const { ada, bob } = await withStore(service.data, async (store) => ({
  ada: await store.addUser('ada', [open]),
  bob: await store.addUser('bob', 'all'),
}));

async function post(path: string, body: Body): Promise<Answer['body']> {
  const answer = await service.send('POST', path, basic, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

/** Fills a project with something of every kind, all of whose texts contain `text`. */
async function fill(project_id: string, text: string): Promise<Ids> {
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
    ...(await recordRun(project_id, text, digest)),
  };
}

/** Stores an evaluation and a model, and records a run with a prediction and a score. */
async function recordRun(project_id: string, text: string, dataset: string) {
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
  return { evaluation, model, run: evaluation_run_id, prediction: prediction_id, score: score_id };
}

function feedbackOn(project: string, call: string): Body {
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
const reference = (project: string, { object, digest }: Ids): string =>
  `weave:///${project}/object/${object}:${digest}`;

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
  updateQueue: (project_id) => ({ project_id, name: 'Changed' }),
  queryQueueItems: (project_id) => ({ project_id, include_position: true }),
  updateProgress: (project_id) => ({ project_id, annotation_state: 'completed' }),
  updateProgressBatch: (project_id) => ({ project_id, updates: [] }),
  readCall: (project_id, { call }) => ({ project_id, id: call }),
  queryCalls: (project_id) => ({ project_id, expand_columns: ['inputs.question'] }),
  recordCalls: (project_id, { call }) => ({
    batch: [
      { mode: 'start', req: { start: startOf(open, 'new') } },
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
      { project_id: open, ...feedbackOn(open, call) },
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
  evaluationStatus: (project_id, { run }) => ({ project_id, call_id: run }),
  cancelEvaluation: (project_id, { run }) => ({ project_id, call_id: run }),
  listEvaluationRuns: (_, { run }) => ({ evaluation_run_ids: run }),
  queryEvaluationResults: (_, { run }) => ({
    evaluation_run_ids: [run],
    include_summary: true,
    include_raw_data_rows: true,
  }),
};
const names = Object.keys(endpoints) as EndpointName[];

/** Returns the content of a request to an endpoint that names a project and ids of one: a sample of its schema, unless `requests` has it. */
function contentOf(name: EndpointName, project: string, named: Ids): Body {
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

/** Endpoints that answer about other things than a project; what they say of one is tested by the texts of the answer. */
const unbound: readonly EndpointName[] = ['listProjects', 'listModels', 'readModel', 'readReferences', 'runInference'];

function send(
  name: EndpointName,
  project: string,
  named: Ids,
  { password, token } = ada,
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
    'path*': name === 'readModel' ? '/heddle/echo' : '/chat/completions',
  };
  const filled = path.replaceAll(/\{([\w*]+)\}/g, (_, key: string) => values[key]!);
  const content = contentOf(name, project, named);
  const search = query ? `?${new URLSearchParams(content as Record<string, string>)}` : '';
  const authorization = auth === 'basic' ? `Basic ${btoa(`:${password}`)}` : `Bearer ${token}`;
  if (form) return service.upload(authorization, content as { project_id: string; file: string });
  return service.send(method, filled + search, authorization, request && content);
}

/** Returns everything that is stored in the hidden project. */
async function stored(): Promise<string> {
  const ofCalls = ['calls', 'early_call_ends', 'deleted_calls', 'feedback'];
  const tables = ['queues', 'queue_items', ...ofCalls, 'objects', 'row_tables', 'row_contents', 'files'];
  const rows = tables.map((table) => execute(service.data, `select * from ${table} where project_id = '${hidden}'`));
  const progress = execute(service.data, `select * from annotator_progress where item_id = '${ids[hidden]!.item}'`);
  return (await Promise.all([...rows, progress]))
    .map((list) => list.map((row) => JSON.stringify(row)).sort())
    .join('\n');
}

const before = await stored();

describe('an account without access to a project', () => {
  it.each(names)('gets the same response from %s as for a project that does not exist', async (name) => {
    const named = ids[hidden]!;
    const [about, other] = await Promise.all([send(name, hidden, named), send(name, missing, named)]);
    const text = JSON.stringify(about.body).replaceAll('hidden', 'missing');
    // An echo of the request tells nothing new.
    expect([about.status, text]).toEqual([other.status, JSON.stringify(other.body)]);
    if (!unbound.includes(name)) expect([about.status, about.body]).toEqual([403, { reason: 'Forbidden' }]);
    expect(await stored()).toBe(before);
  });

  it.each(names)('finds nothing of the project when it passes its ids to %s in a project of its own', async (name) => {
    const answer = await send(name, open, ids[hidden]!);
    const echoes = JSON.stringify([contentOf(name, open, ids[hidden]!), ids[hidden]]);
    const foreign = (JSON.stringify(answer.body).match(/[\w-]*quokka[\w-]*/g) ?? []).filter(
      (word) => !echoes.includes(word),
    );
    expect(foreign).toEqual([]);
    expect(await stored()).toBe(before);
  });

  it("gets no access through a name that resembles the project's, or its own project's", async () => {
    const spelling = fc.oneof(
      fc.constantFrom('acme/openness', 'acme/ope', 'ACME/open', 'acme/Open', 'acme/open ', 'bacme/open'),
      fc.constantFrom(
        'ACME/hidden',
        'acme/Hidden',
        'acme/hidden ',
        'acme//hidden',
        'acme/./hidden',
        'acme/open/../hidden',
      ),
      fc.constantFrom(
        'acme%2Fhidden',
        'acme/hidden%00',
        'acme/hidde\u006e',
        'acme/ｈidden',
        '*',
        '*/*',
        'acme/*',
        '%/%',
      ),
      fc.string({ maxLength: 8 }).map((text) => `acme/hidden${text}`),
      fc.string({ maxLength: 8 }).map((text) => `${text}acme/hidden`),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), spelling, async (name, project) => {
        const { status, body } = await send(name, project, ids[hidden]!);
        if (!unbound.includes(name)) expect([403, 404, 422]).toContain(status);
        expect(JSON.stringify(body)).not.toMatch(/"quokka|[^-]quokka"/);
      }),
      { numRuns: caseCount(150) },
    );
    tally('property runs', 150);
    expect(await stored()).toBe(before);
  });

  it('gets the same result for references to the project as for broken ones', async () => {
    const to = reference(hidden, ids[hidden]!);
    const asAda = `Basic ${btoa(`ada:${ada.password}`)}`;
    const line = {
      call_id: 'referring',
      call_op_name: 'op',
      call_trace_id: 't',
      call_started_at: '2026-01-01T00:00:00Z',
    };
    await withStore(service.data, (store) =>
      store.importItems([JSON.stringify({ ...line, call: { inputs: { row: to } } })], {
        projectId: open,
        queueId: 'refs',
      }),
    );
    const query = { project_id: open, filter: { call_ids: ['referring'] }, expand_columns: ['inputs.row'] };
    const expanded = await service.send('POST', '/calls/stream_query', asAda, query);
    expect(JSON.parse(expanded.body).inputs).toEqual({ row: to });
    const own = reference(open, ids[open]!);
    const read = await service.send('POST', '/refs/read_batch', asAda, {
      refs: [to, `${to}/attr/text`, `${own}/attr/text`],
    });
    expect(read.body).toEqual({ vals: [null, null, 'plain'] });
    const prompt = `weave:///${hidden}/object/prompt-${marker}:latest`;
    const inference = { model: 'heddle/echo', prompt };
    expect(
      await service.send('POST', '/inference/v1/chat/completions', `Bearer ${ada.token}`, inference),
    ).toMatchObject({
      status: 404,
      body: { reason: `Prompt ${prompt} not found` },
    });
  });

  it('does not find the project in the list of projects', async () => {
    expect((await send('listProjects', open, ids[open]!)).body.projects.map(projectOf)).toEqual([open]);
    expect((await send('listProjects', open, ids[open]!, bob)).body.projects.map(projectOf)).toEqual([hidden, open]);
  });
});

const projectOf = ({ project_id }: { project_id: string }): string => project_id;

describe('an account without access to any project', () => {
  it('sees no project', async () => {
    const { password } = await withStore(service.data, (store) => store.addUser('eve'));
    const asEve = `Basic ${btoa(`eve:${password}`)}`;
    for (const project_id of [hidden, open, missing]) {
      expect(await service.send('POST', '/annotation_queues/query', asEve, { project_id })).toMatchObject({
        status: 403,
        body: { reason: 'Forbidden' },
      });
    }
    expect((await service.send('GET', '/projects', asEve)).body).toEqual({ projects: [] });
  });
});

describe('access to a project', () => {
  const asAda = `Basic ${btoa(`ada:${ada.password}`)}`;
  const queues = async (): Promise<number> =>
    (await service.send('POST', '/annotation_queues/query', asAda, { project_id: hidden })).status;

  it('takes effect with the next request, as does its removal', async () => {
    await withStore(service.data, async (store) => {
      expect(await queues()).toBe(403);
      expect(await store.grant('ada', [hidden])).toEqual([hidden, open]);
      expect(await queues()).toBe(200);
      expect(await store.revoke('ada', [hidden])).toEqual([open]);
      expect(await queues()).toBe(403);
      expect(await store.grant('ada', 'all')).toBe('all');
      expect(await queues()).toBe(200);
      await expect(store.revoke('ada', [hidden])).rejects.toMatchObject({ code: 'conflict' });
      expect(await store.revoke('ada', 'all')).toEqual([open]);
      expect(await queues()).toBe(403);
    });
  });

  // Others need the object and the queue.
  const deletions: readonly EndpointName[] = ['deleteObject', 'deleteQueue'];

  it.each(names.filter((name) => !deletions.includes(name)))('allows %s', async (name) => {
    const answer = await send(name, hidden, ids[hidden]!, bob);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  });

  it.each(deletions)('allows %s', async (name) => {
    expect((await send(name, hidden, ids[hidden]!, bob)).status).toBe(200);
    expect(await stored()).not.toBe(before);
  });
});
