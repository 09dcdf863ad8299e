import { createHash } from 'node:crypto';
import { type FakeService, type RecordedRequest, sendResponse, startFakeService } from './fake-service.ts';
import { fitsField, fulfills, pageOf, sortedBy } from './recorded-conditions.ts';

const project = 'team/project';
const digest = (letter: string): string => letter.repeat(43);

/** References of the fields of the queue `q`. */
export const helpfulField = `weave:///${project}/object/helpful:${digest('h')}`;
export const scoreField = `weave:///${project}/object/score:${digest('s')}`;

// biome-ignore lint/suspicious/noExplicitAny: objects, bodies and feedback of every shape
type Json = any;

const initialObjects: Record<string, Json> = {
  [helpfulField]: { _class_name: 'AnnotationSpec', name: 'Helpful', field_schema: { type: 'boolean' } },
  [scoreField]: { _class_name: 'AnnotationSpec', field_schema: { type: 'integer', minimum: 1, maximum: 5 } },
  [`weave:///${project}/object/rows:${digest('r')}/attr/rows/id/${digest('1')}`]: { question: 'Is it safe?' },
};
/** A reference to a row of a dataset, which the recorded calls have as input. */
export const rowReference = Object.keys(initialObjects)[2]!;

export interface RecordedService extends FakeService {
  /** The references of the queue `q` to its fields. */
  fields: string[];
  /** Further queues of the project, the newest first. */
  queues: Record<string, unknown>[];
  /** The recorded calls; an id alone stands for a call that is like all others. */
  calls: (string | Json)[];
  /** Paths that the service does not have. */
  missing: Set<string>;
  /** Replaces references at expand_columns; older services do not know the member. */
  expands: boolean;
  /** Stored feedback. */
  feedback: Json[];
  /** States by annotator and item. */
  states: Map<string, string>;
  /** Bodies of the requests to a path, in order. */
  bodiesOf: (path: string) => Json[];
  /** The settings of a heddle that a person uses. */
  environmentOf: (username: string) => Record<string, string>;
}

/**
 * Starts a service with the queue `q` of the items i1, i2 and i3, which answers as the public service was recorded to:
 * annotations need a reference to their field, states belong to annotators, and times have no zone.
 */
export async function startRecordedService(): Promise<RecordedService> {
  const service = Object.assign(await startFakeService(), {
    fields: [helpfulField, scoreField],
    queues: [] as Record<string, unknown>[],
    calls: ['call-i1', 'call-i2', 'call-i3'] as Json[],
    missing: new Set<string>(),
    expands: true,
    states: new Map<string, string>(),
    feedback: [] as Json[],
    bodiesOf: (path: string) =>
      service.requests.filter((request) => request.path === path).map(({ body }) => JSON.parse(body)),
    environmentOf: (username: string) => ({ ...service.environment, HEDDLE_USERNAME: username }),
  });
  const objects = { ...initialObjects };

  const callOf = (entry: Json): Json => ({
    project_id: project,
    trace_id: 't',
    op_name: 'op',
    started_at: '2026-01-01T00:00:00Z',
    ended_at: '2026-01-01T00:00:01.500000Z',
    exception: null,
    output: null,
    ...(typeof entry === 'string' ? { id: entry, inputs: { row: rowReference } } : entry),
  });
  const matchingCalls = ({ filter, query, sort_by }: Json): Json[] => {
    const isIn = (list: string[] | undefined, value: string) => !list?.length || list.includes(value);
    const isOperation = (name: string) => (known: string) =>
      known.endsWith(':*') ? name.startsWith(known.slice(0, -1)) : name === known;
    const found = service.calls
      .map(callOf)
      .filter(
        ({ id, op_name, trace_id }) =>
          isIn(filter?.call_ids, id) &&
          isIn(filter?.trace_ids, trace_id) &&
          (!filter?.op_names?.length || filter.op_names.some(isOperation(op_name))),
      )
      .filter((call) => !query || fulfills(query.$expr, call));
    return sortedBy(found, sort_by ?? [{ field: 'started_at', direction: 'asc' }]);
  };
  const readCall = ({ project_id, id }: Json): Json =>
    project_id === project ? (matchingCalls({ filter: { call_ids: [id] } })[0] ?? null) : null;
  /** Columns are chosen by what is before their first dot; some members always come. */
  const withColumns = (call: Json, { columns, expand_columns = [] }: Json): Json => {
    const chosen = ['id', 'project_id', 'trace_id', 'op_name', 'started_at'];
    chosen.push(...(columns ?? Object.keys(call)).map((column: string) => column.split('.', 1)[0]));
    const members = Object.entries(call).filter(([name]) => chosen.includes(name));
    const sent = Object.fromEntries(members) as Json;
    if (!service.expands || !expand_columns.includes('inputs.row') || sent.inputs?.row !== rowReference) return sent;
    return { ...sent, inputs: { ...sent.inputs, row: { ...initialObjects[rowReference], _ref: rowReference } } };
  };

  /** Items by queue, as call ids and display fields by item id. */
  const itemsOf = new Map<string, Map<string, { call_id: string; display_fields: string[] }>>();
  const display_fields = ['inputs.row.question'];
  itemsOf.set('q', new Map(['i1', 'i2', 'i3'].map((id) => [id, { call_id: `call-${id}`, display_fields }])));
  /** The state that an item shows is the latest of anyone. */
  const shown = new Map<string, { annotation_state: string; annotator_user_id: string }>();
  const itemOf = (queue_id: string, id: string) => {
    const { call_id, display_fields } = itemsOf.get(queue_id)!.get(id)!;
    const call = callOf(service.calls.find((entry) => (entry.id ?? entry) === call_id) ?? call_id);
    return {
      id,
      project_id: project,
      queue_id,
      call_id,
      call_started_at: call.started_at.replace('Z', ''),
      call_ended_at: call.ended_at.replace('Z', ''),
      call_op_name: call.op_name,
      call_trace_id: call.trace_id,
      display_fields,
      created_at: '2026-01-02T00:00:00',
      created_by: 'user-1',
      updated_at: '2026-01-02T00:00:00',
      deleted_at: null,
      added_by: null,
      position_in_queue: null as number | null,
      annotation_state: 'unstarted',
      annotator_user_id: '',
      ...shown.get(id),
    };
  };

  const queryItems = (queueId: string, { filter, sort_by, limit, offset, include_position }: Json): object => {
    const states = filter?.annotation_states;
    // Members that the service does not know are ignored.
    const known = ['id', 'call_id', 'call_op_name', 'call_trace_id', 'added_by'].filter(
      (name) => filter?.[name] != null,
    );
    const all = [...(itemsOf.get(queueId)?.keys() ?? [])].map((id) => itemOf(queueId, id) as Json);
    const matching = all.filter((item) => known.every((name) => item[name] === filter[name]));
    // Positions are counted before the filter of states.
    const numbered = sortedBy(matching, sort_by).map((item, index) => {
      return include_position ? { ...item, position_in_queue: index + 1 } : item;
    });
    const found = numbered.filter(({ annotation_state }) => !states?.length || states.includes(annotation_state));
    return { items: pageOf(found, { limit, offset }) };
  };

  const addItems = (queueId: string, { call_ids, display_fields }: Json): object => {
    const items = itemsOf.get(queueId) ?? new Map();
    itemsOf.set(queueId, items);
    const known = new Set(service.calls.map((entry) => entry.id ?? entry));
    const held = new Set([...items.values()].map(({ call_id }) => call_id));
    const counts = { added_count: 0, duplicates: 0 };
    // Unknown calls are skipped.
    for (const call_id of new Set<string>(call_ids.filter((id: string) => known.has(id)))) {
      counts[held.has(call_id) ? 'duplicates' : 'added_count'] += 1;
      if (!held.has(call_id)) items.set(`${queueId}-i${items.size + 1}`, { call_id, display_fields });
    }
    return counts;
  };

  const statsOf = (queue_id: string): object => {
    const finished = [...service.states].filter(([, state]) => state === 'completed' || state === 'skipped');
    const completed = new Set(finished.map(([key]) => key.split(' ').at(-1)));
    const ids = [...(itemsOf.get(queue_id)?.keys() ?? [])];
    return { queue_id, total_items: ids.length, completed_items: ids.filter((id) => completed.has(id)).length };
  };

  /** Returns the queue `q` and the further ones. */
  const allQueues = (): Record<string, unknown>[] => [
    ...service.queues,
    { id: 'q', name: 'Q', description: '', scorer_refs: service.fields },
  ];
  const complete = (queue: Record<string, unknown>) => {
    const rest = { project_id: project, created_at: '2026-01-01T00:00:00Z', created_by: 'user-1' };
    return { ...rest, ...queue };
  };

  const createQueue = ({ project_id, name, description, scorer_refs }: Json): object => {
    const id = `created-${service.queues.length + 1}`;
    service.queues.unshift({ project_id, name, description, scorer_refs, id });
    return { id };
  };

  const createObject = ({ obj }: Json): object => {
    const { builtin_object_class: built } = obj;
    // Only the class of a model extends another.
    const base = built === 'LLMStructuredCompletionModel' ? ['Model', 'Object'] : ['Object'];
    const val = built ? { ...obj.val, _type: built, _class_name: built, _bases: [...base, 'BaseModel'] } : obj.val;
    // The same content is the same version.
    for (let version = 0; ; version += 1) {
      const created = `${obj.object_id[0].toUpperCase().repeat(42)}${version || obj.object_id[0].toUpperCase()}`;
      const ref = `weave:///${project}/object/${obj.object_id}:${created}`;
      objects[ref] ??= val;
      if (JSON.stringify(objects[ref]) === JSON.stringify(val)) return { digest: created };
    }
  };

  /** Rows by the digest of their table. */
  const tables = new Map<string, Json[]>();
  const createTable = ({ table: { rows } }: Json): object => {
    const created = createHash('sha256').update(JSON.stringify(rows)).digest('hex');
    tables.set(created, rows);
    return { digest: created, row_digests: rows.map((_: Json, index: number) => digest(String(index % 10))) };
  };
  const queryTable = ({ digest: wanted, limit, offset }: Json): object => {
    const rows = (tables.get(wanted) ?? []).map((val, index) => ({ digest: digest(String(index % 10)), val }));
    return { rows: pageOf(rows, { limit, offset }) };
  };

  /** Returns the versions of objects, the oldest first. */
  const versions = (): Json[] =>
    Object.entries(objects).flatMap(([ref, val]) => {
      const [, object_id, version] = /\/object\/([^/:]+):([^/]+)$/.exec(ref) ?? [];
      if (!object_id) return [];
      const bases = val._bases ?? [];
      const base_object_class = bases[bases.indexOf('Object') - 1] ?? val._class_name ?? null;
      const leaf_object_class = val._class_name ?? null;
      return [
        { project_id: project, object_id, digest: version, kind: 'object', base_object_class, leaf_object_class, val },
      ];
    });
  const numbered = (): Json[] => {
    const counts = new Map<string, number>();
    const all = versions().map((version) => {
      const version_index = counts.get(version.object_id) ?? 0;
      counts.set(version.object_id, version_index + 1);
      return { ...version, version_index, created_at: '2026-01-01T00:00:00' };
    });
    return all.map((version) => ({
      ...version,
      is_latest: Number(version.version_index + 1 === counts.get(version.object_id)),
    }));
  };
  const queryObjects = ({ filter = {}, limit, offset, metadata_only }: Json): object => {
    const isIn = (list: string[] | undefined, value: string) => !list?.length || list.includes(value);
    const found = numbered().filter(
      ({ object_id, base_object_class, is_latest }) =>
        isIn(filter.object_ids, object_id) &&
        isIn(filter.base_object_classes, base_object_class) &&
        (!filter.latest_only || is_latest === 1),
    );
    return {
      objs: pageOf(found.toReversed(), { limit, offset }).map((one: Json) =>
        metadata_only ? { ...one, val: {} } : one,
      ),
    };
  };

  const setProgress = (queueId: string, id: string, annotator: string, to: string): object | string => {
    if (!itemsOf.get(queueId)?.has(id)) return `Item ${id} not found`;
    const key = `${annotator} ${id}`;
    const from = service.states.get(key);
    if (!['in_progress', 'completed', 'skipped'].includes(to)) return `Invalid annotation_state: ${to}`;
    if (from === 'completed' || from === 'skipped' || (from === 'in_progress' && to === 'in_progress')) {
      if (from !== to) return `Invalid state transition from '${from}' to '${to}'`;
      return { item: itemOf(queueId, id) };
    }
    service.states.set(key, to);
    shown.set(id, { annotation_state: to, annotator_user_id: annotator });
    return { item: itemOf(queueId, id) };
  };

  const readReferences = (refs: string[]): object | string =>
    refs.some((ref) => ref.endsWith(':latest'))
      ? 'Refs need a digest'
      : { vals: refs.map((ref) => objects[ref] ?? null) };

  let lastTimeMs = 0;
  const createFeedback = (body: Json, annotator: string): object | string => {
    const stored = (): object => {
      // The same id of another account is feedback of its own.
      const known = service.feedback.find(({ id, wb_user_id }) => id === body.id && wb_user_id === `user-${annotator}`);
      lastTimeMs = Math.max(lastTimeMs + 1, Date.now());
      const time = new Date(lastTimeMs).toISOString().replace('Z', '');
      const id = body.id ?? `feedback-${lastTimeMs}`;
      const feedback = known ?? { ...body, id, wb_user_id: `user-${annotator}`, created_at: time };
      if (!known) service.feedback.push(feedback);
      return { id: feedback.id, created_at: feedback.created_at, wb_user_id: feedback.wb_user_id, payload: {} };
    };
    if (body.queue_id && !allQueues().some(({ id }) => id === body.queue_id)) return 'Queue not found';
    if (body.feedback_type === 'wandb.note.1' && !(body.payload.note?.length <= 1024)) return 'Invalid note';
    if (!body.feedback_type.startsWith('wandb.annotation.')) return stored();
    if (!body.annotation_ref) return 'annotation_ref is required for annotation feedback';
    if (body.annotation_ref.endsWith(':latest')) return `Invalid ref: ${body.annotation_ref}`;
    const field = objects[body.annotation_ref];
    const isNamed = body.annotation_ref.includes(`/object/${body.feedback_type.slice('wandb.annotation.'.length)}:`);
    const fits = field && isNamed && fitsField(field.field_schema, body.payload.value);
    return fits ? stored() : 'Feedback payload does not match annotation spec';
  };
  const queryFeedback = ({ query, sort_by, limit, offset }: Json): object => {
    const found = service.feedback.filter((feedback) => !query || fulfills(query.$expr, feedback));
    return { result: pageOf(sortedBy(found, sort_by), { limit, offset }) };
  };

  /** Changes or deletes a queue that was created. */
  const changeQueue = (method: string, id: string, { name, description, scorer_refs }: Json): object | null => {
    const queue = service.queues.find((candidate) => candidate.id === id);
    if (!queue) return null;
    const members = Object.entries({ name, description, scorer_refs }).filter(([, value]) => value != null);
    if (method === 'PUT') Object.assign(queue, Object.fromEntries(members));
    else service.queues = service.queues.filter((candidate) => candidate !== queue);
    return { queue: complete(queue) };
  };

  const handleQueue = (
    method: string,
    id: string,
    rest: string,
    body: Json,
    annotator: string,
  ): object | string | null | undefined => {
    const [, item] = /^[/]items[/]([^/]+)[/]progress$/.exec(rest) ?? [];
    if (item) return setProgress(id, item, annotator, body.annotation_state);
    if (rest === '/items/query') return body.project_id === project ? queryItems(id, body) : { items: [] };
    if (rest === '/items') return addItems(id, body);
    if (rest !== '') return undefined;
    if (method === 'PUT' || method === 'DELETE') return changeQueue(method, id, body);
    const queue = body.project_id === project && allQueues().find((candidate) => candidate.id === id);
    return queue ? { queue: complete(queue) } : null;
  };

  const handle = ({ method, path, headers, body: text }: RecordedRequest): object | string | null | undefined => {
    const body = text === '' ? {} : JSON.parse(text);
    const credentials = Buffer.from((headers.authorization ?? '').slice(6), 'base64').toString();
    const [username = '', key = ''] = credentials.split(':');
    // Users of an API key share the user name `api`.
    const annotator = username === 'api' ? key : username;
    if (service.missing.has(path)) return undefined;
    if (path === '/annotation_queues') return createQueue(body);
    if (path === '/obj/create') return createObject(body);
    if (path === '/table/create') return createTable(body);
    if (path === '/table/query') return queryTable(body);
    if (path === '/objs/query') return queryObjects(body);
    if (path === '/calls/query_stats')
      return { count: Math.min(matchingCalls(body).length, body.limit ?? Number.POSITIVE_INFINITY) };
    if (path === '/annotation_queues/stats') return { stats: body.queue_ids.map(statsOf) };
    if (path === '/refs/read_batch') return readReferences(body.refs);
    if (path === '/call/read') return { call: readCall(body) };
    if (path === '/obj/read') {
      const named = numbered().filter(({ object_id }) => object_id === body.object_id);
      const isWanted = ({ digest: known, is_latest }: Json) =>
        known === body.digest || (body.digest === 'latest' && is_latest);
      const obj = named.find(isWanted) ?? null;
      return obj && { obj: { ...obj, base_object_class: obj.base_object_class ?? 'AnnotationSpec' } };
    }
    if (path === '/feedback/query') return queryFeedback(body);
    if (path === '/feedback/purge') {
      service.feedback = service.feedback.filter((feedback) => !fulfills(body.query.$expr, feedback));
      return {};
    }
    if (path === '/feedback/create') return createFeedback(body, annotator);
    if (path === '/feedback/batch/create') {
      const res = body.batch.map((entry: object) => createFeedback(entry, annotator));
      return res.find((entry: unknown) => typeof entry === 'string') ?? { res };
    }
    const { pathname, searchParams } = new URL(path, service.url);
    const [, queueId, rest = ''] = /^[/]annotation_queues[/]([^/]+)(.*)/.exec(pathname) ?? [];
    const parameters = { ...body, ...Object.fromEntries(searchParams) };
    return queueId ? handleQueue(method, queueId, rest, parameters, annotator) : undefined;
  };

  const sendLines = (request: RecordedRequest, lines: object[]): void =>
    sendResponse(request, 200, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), {
      'content-type': 'application/x-ndjson',
    });

  service.respond = (request) => {
    const isOf = (body: Json): boolean => body.project_id === project;
    if (request.path === '/annotation_queues/query') {
      const body = JSON.parse(request.body);
      const name = (body.name ?? '').toLowerCase();
      const matching = allQueues().filter((queue) => isOf(body) && String(queue.name).toLowerCase().includes(name));
      return sendLines(request, pageOf(matching, body).map(complete));
    }
    if (request.path === '/calls/stream_query') {
      const body = JSON.parse(request.body);
      const found = isOf(body) ? pageOf(matchingCalls(body), body) : [];
      return sendLines(
        request,
        found.map((call) => withColumns(call, body)),
      );
    }
    const answer = handle(request);
    if (answer === null) return sendResponse(request, 404, { reason: 'It does not exist' });
    if (answer === undefined) return sendResponse(request, 404, { detail: 'Not Found' });
    if (typeof answer === 'string') return sendResponse(request, 400, { reason: answer });
    sendResponse(request, 200, answer);
  };
  return service;
}
