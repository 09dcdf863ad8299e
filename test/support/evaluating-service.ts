import { type FakeService, type RecordedRequest, sendResponse, startFakeService } from './fake-service.ts';

const project = 'team/project';
const digestOf = (letter: string): string => letter.repeat(43);
const referenceTo = (name: string, letter: string): string => `weave:///${project}/object/${name}:${digestOf(letter)}`;
const tableDigest = 'a'.repeat(64);

// biome-ignore lint/suspicious/noExplicitAny: bodies, rows and results of every shape
type Json = any;

/** A service that runs evaluations as the public service does: it counts, but does not cancel. */
export interface EvaluatingService extends FakeService {
  /** Rows of the dataset of the evaluation `answers`. */
  rows: Json[];
  /** Members of the scorer `judge`, besides its class. */
  judge: Json;
  /** Trials of the evaluation `answers` for each row. */
  trials: number;
  /** Statuses that the service tells, the last of them again and again. */
  statuses: Json[];
  /** Results of runs, as the service sends them. */
  results: Json;
  runs: Json[];
  /** Paths that the service does not have. */
  missing: Set<string>;
  /** Bodies of the requests to a path, in order. */
  bodiesOf: (path: string) => Json[];
}

export const judgeReference = referenceTo('judge', 'j');
export const evaluationReference = referenceTo('answers', 'e');

/** Starts the service with the evaluation `answers` on four rows, and the prompt `brief`. */
export async function startEvaluatingService(): Promise<EvaluatingService> {
  const service = Object.assign(await startFakeService(), {
    rows: ['Oslo', 'Rome', 'Bern', 'Kyiv'].map((capital) => ({ question: `Where is ${capital}?`, capital })),
    judge: { scoring_prompt: 'Right? {output} {capital}' } as Json,
    trials: 1,
    statuses: [{ code: 'complete', output: {} }] as Json[],
    results: { rows: [], total_rows: 0, summary: { row_count: 0, evaluations: [] }, warnings: [] } as Json,
    runs: [] as Json[],
    missing: new Set(['/evaluations/cancel', '/table/query_stats']),
    bodiesOf: (path: string) =>
      service.requests.filter((request) => request.path === path).map(({ body }) => JSON.parse(body)),
  });
  const bases = (name: string) => ({ _class_name: name, _bases: ['Object', 'BaseModel'] });
  const objects: Record<string, [letter: string, base: string, val: () => Json]> = {
    answers: [
      'e',
      'Evaluation',
      () => ({
        ...bases('Evaluation'),
        dataset: referenceTo('capitals', 'd'),
        scorers: [referenceTo('contains', 'c'), judgeReference, referenceTo('python', 'p')],
        trials: service.trials,
      }),
    ],
    capitals: ['d', 'Dataset', () => ({ rows: `weave:///${project}/table/${tableDigest}` })],
    contains: ['c', 'Scorer', () => ({ ...bases('HeddleScorer'), kind: 'contains', expected: 'capital' })],
    judge: ['j', 'Scorer', () => ({ ...bases('LLMAsAJudgeScorer'), model: 'weave:///x', ...service.judge })],
    python: ['p', 'Scorer', () => bases('MyScorer')],
    brief: [
      'b',
      'Prompt',
      () => ({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: '{question}' },
        ],
      }),
    ],
  };
  const readObject = ({ object_id, digest }: Json): Json => {
    const [letter, base_object_class, val] = objects[object_id] ?? [];
    if (!val || !['latest', digestOf(letter!)].includes(digest)) return undefined;
    const version = { object_id, digest: digestOf(letter!), version_index: 0, is_latest: 1 };
    return { obj: { project_id: 'internal-id', kind: 'object', base_object_class, ...version, val: val() } };
  };
  let started = 0;
  const handle = ({ path: fullPath, body: text }: RecordedRequest): Json => {
    const path = fullPath.split('?')[0]!;
    const body = text === '' ? {} : JSON.parse(text);
    if (service.missing.has(path)) return undefined;
    if (path === '/obj/read') return readObject(body) ?? null;
    if (path === '/objs/query') {
      const objs = Object.keys(objects)
        .map((object_id) => readObject({ object_id, digest: 'latest' }).obj)
        .filter(
          ({ base_object_class }) =>
            !body.filter.base_object_classes || body.filter.base_object_classes.includes(base_object_class),
        )
        .filter(({ object_id }) => !body.filter.object_ids || body.filter.object_ids.includes(object_id));
      return { objs };
    }
    if (path === '/table/query') {
      const { offset = 0, limit = service.rows.length } = body;
      const page = service.rows.slice(offset, offset + limit);
      return {
        rows: page.map((val, index) => ({ digest: `row-${offset + index}`, val, original_index: offset + index })),
      };
    }
    if (path === '/obj/create') return { digest: digestOf('m'), object_id: body.obj.object_id };
    if (path === '/refs/read_batch') return { vals: body.refs.map(() => null) };
    if (path === `/v2/${project}/datasets`) return { digest: digestOf('n'), object_id: body.name, version_index: 0 };
    if (path === `/v2/${project}/evaluations`) {
      const stored = { digest: digestOf('f'), object_id: body.name, version_index: 0 };
      return { ...stored, evaluation_ref: referenceTo(body.name, 'f') };
    }
    if (path === '/evaluations/evaluate_model') {
      started += 1;
      return { call_id: `run-${started}` };
    }
    if (path === '/evaluations/status') {
      return { status: service.statuses.length > 1 ? service.statuses.shift() : service.statuses[0] };
    }
    if (path === `/v2/${project}/eval_results/query`) return service.results;
    return undefined;
  };
  service.respond = (request) => {
    if (request.path.startsWith(`/v2/${project}/evaluation_runs`)) {
      const wanted = new URL(request.path, service.url).searchParams.getAll('evaluation_run_ids');
      const runs = service.runs.filter(
        ({ evaluation_run_id }) => wanted.length === 0 || wanted.includes(evaluation_run_id),
      );
      return sendResponse(request, 200, runs.map((run) => `${JSON.stringify(run)}\n`).join(''), {
        'content-type': 'application/x-ndjson',
      });
    }
    const answer = handle(request);
    if (answer === null) return sendResponse(request, 404, { reason: 'It does not exist' });
    if (answer === undefined) return sendResponse(request, 404, { detail: 'Not Found' });
    sendResponse(request, 200, answer);
  };
  return service;
}
