import { type FakeService, type RecordedRequest, sendResponse, startFakeService } from './fake-service.ts';

const project = 'team/project';
const digest = (letter: string): string => letter.repeat(43);

/** References of the fields of the queue `q`. */
export const helpfulField = `weave:///${project}/object/helpful:${digest('h')}`;
export const scoreField = `weave:///${project}/object/score:${digest('s')}`;

const initialObjects: Record<string, unknown> = {
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
  /** Ids of the calls that the service finds when a request names none, whatever its conditions. */
  calls: string[];
  /** Paths that the service does not have. */
  missing: Set<string>;
  /** Replaces references at expand_columns; older services do not know the member. */
  expands: boolean;
  /** Stored feedback. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into feedback of every shape
  feedback: any[];
  /** States by annotator and item. */
  states: Map<string, string>;
  /** Bodies of the requests to a path, in order. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  bodiesOf: (path: string) => any[];
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
    calls: ['call-i1', 'call-i2', 'call-i3'],
    missing: new Set<string>(),
    expands: true,
    states: new Map<string, string>(),
    // biome-ignore lint/suspicious/noExplicitAny: feedback of every shape
    feedback: [] as any[],
    bodiesOf: (path: string) =>
      service.requests.filter((request) => request.path === path).map(({ body }) => JSON.parse(body)),
    environmentOf: (username: string) => ({ ...service.environment, HEDDLE_USERNAME: username }),
  });
  const objects = { ...initialObjects };
  /** The state that an item shows is the latest of anyone. */
  const shown = new Map<string, { annotation_state: string; annotator_user_id: string }>();
  const itemOf = (id: string) => ({
    id,
    project_id: project,
    queue_id: 'q',
    call_id: `call-${id}`,
    call_started_at: '2026-01-01T00:00:00',
    call_ended_at: '2026-01-01T00:00:01.500000',
    call_op_name: 'op',
    call_trace_id: 't',
    display_fields: ['inputs.row.question'],
    created_at: '2026-01-02T00:00:00',
    created_by: 'user-1',
    updated_at: '2026-01-02T00:00:00',
    deleted_at: null,
    added_by: null,
    position_in_queue: null,
    annotation_state: 'unstarted',
    annotator_user_id: '',
    ...shown.get(id),
  });

  /** Returns the queue `q` and the further ones. */
  const allQueues = (): Record<string, unknown>[] => [
    ...service.queues,
    { id: 'q', name: 'Q', description: '', scorer_refs: service.fields },
  ];
  const complete = (queue: Record<string, unknown>) => {
    const rest = { project_id: project, created_at: '2026-01-01T00:00:00Z', created_by: 'user-1' };
    return { ...rest, ...queue };
  };

  const createQueue = (queue: Record<string, unknown>): object => {
    const id = `created-${service.queues.length + 1}`;
    service.queues.unshift({ ...queue, id });
    return { id };
  };

  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  const createObject = ({ obj }: any): object => {
    const created = digest(obj.object_id[0].toUpperCase());
    objects[`weave:///${project}/object/${obj.object_id}:${created}`] = obj.val;
    return { digest: created };
  };

  const setProgress = (id: string, annotator: string, to: string): object | string => {
    const key = `${annotator} ${id}`;
    const from = service.states.get(key);
    if (!['in_progress', 'completed', 'skipped'].includes(to)) return `Invalid annotation_state: ${to}`;
    if (from === 'completed' || from === 'skipped' || (from === 'in_progress' && to === 'in_progress')) {
      if (from !== to) return `Invalid state transition from '${from}' to '${to}'`;
      return { item: itemOf(id) };
    }
    service.states.set(key, to);
    shown.set(id, { annotation_state: to, annotator_user_id: annotator });
    return { item: itemOf(id) };
  };

  const readReferences = (refs: string[]): object | string =>
    refs.some((ref) => ref.endsWith(':latest'))
      ? 'Refs need a digest'
      : { vals: refs.map((ref) => objects[ref] ?? null) };

  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  const createFeedback = (body: any, annotator: string): object | string => {
    const stored = (): object => {
      // The same id of another account is feedback of its own.
      const known = service.feedback.find(({ id, wb_user_id }) => id === body.id && wb_user_id === `user-${annotator}`);
      const time = new Date(Date.now() + service.feedback.length).toISOString().replace('Z', '');
      const feedback = known ?? { ...body, wb_user_id: `user-${annotator}`, created_at: time };
      if (!known) service.feedback.push(feedback);
      return { id: body.id, created_at: feedback.created_at, wb_user_id: feedback.wb_user_id, payload: {} };
    };
    if (!body.feedback_type.startsWith('wandb.annotation.')) return stored();
    if (!body.annotation_ref) return 'annotation_ref is required for annotation feedback';
    if (body.annotation_ref.endsWith(':latest')) return `Invalid ref: ${body.annotation_ref}`;
    const { value } = body.payload;
    const fits =
      body.annotation_ref === helpfulField
        ? typeof value === 'boolean'
        : body.annotation_ref === scoreField && Number.isInteger(value) && value >= 1 && value <= 5;
    return fits ? stored() : 'Feedback payload does not match annotation spec';
  };
  // biome-ignore lint/suspicious/noExplicitAny: queries of every shape
  const queryFeedback = ({ query, limit, sort_by }: any): object => {
    const text = JSON.stringify(query);
    const refs = [...text.matchAll(/"(weave:[^"]*)"/g)].map(([, ref]) => ref);
    const found = service.feedback.filter(({ weave_ref }) => refs.length === 0 || refs.includes(weave_ref));
    if (sort_by?.[0].direction === 'desc') found.reverse();
    return { result: found.slice(0, limit) };
  };

  const handle = ({ method, path, headers, body: text }: RecordedRequest): object | string | null | undefined => {
    const body = text === '' ? {} : JSON.parse(text);
    const credentials = Buffer.from((headers.authorization ?? '').slice(6), 'base64').toString();
    const [username = '', key = ''] = credentials.split(':');
    // Users of an API key share the user name `api`.
    const annotator = username === 'api' ? key : username;
    const [, item] = /^[/]annotation_queues[/]q[/]items[/](\w+)[/]progress$/.exec(path) ?? [];
    if (service.missing.has(path)) return undefined;
    if (item) return setProgress(item, annotator, body.annotation_state);
    if (path === '/annotation_queues/q/items/query') {
      const items = ['i1', 'i2', 'i3'].map(itemOf);
      return { items: items.filter(({ id }) => !body.filter?.id || body.filter.id === id) };
    }
    const [, queueId] = /^[/]annotation_queues[/](\w+)[?]/.exec(path) ?? [];
    if (queueId && method === 'GET') {
      const queue = allQueues().find(({ id }) => id === queueId);
      return queue ? { queue: complete(queue) } : null;
    }
    if (path === '/annotation_queues/q/items') return { added_count: body.call_ids.length, duplicates: 0 };
    if (path === '/annotation_queues') return createQueue(body);
    if (path === '/obj/create') return createObject(body);
    if (path === '/calls/query_stats') return { count: service.calls.length };
    if (path === '/annotation_queues/stats') {
      return {
        stats: body.queue_ids.map((queue_id: string) => ({ queue_id, total_items: 3, completed_items: 1 })),
      };
    }
    if (path === '/refs/read_batch') return readReferences(body.refs);
    if (path === '/obj/read') {
      const ref = Object.keys(objects).find((key) => key.includes(`/${body.object_id}:`));
      if (!ref) return null;
      const version = { object_id: body.object_id, digest: ref.split(':').at(-1), version_index: 0, is_latest: 1 };
      return {
        obj: {
          project_id: project,
          kind: 'object',
          base_object_class: 'AnnotationSpec',
          ...version,
          val: objects[ref],
        },
      };
    }
    if (path === '/feedback/query') return queryFeedback(body);
    if (path === '/feedback/purge') {
      service.feedback = service.feedback.filter(({ id }) => !text.includes(`"${id}"`));
      return {};
    }
    if (path === '/feedback/create') return createFeedback(body, annotator);
    if (path === '/feedback/batch/create') {
      const res = body.batch.map((entry: object) => createFeedback(entry, annotator));
      return res.find((entry: unknown) => typeof entry === 'string') ?? { res };
    }
    return undefined;
  };

  const sendLines = (request: RecordedRequest, lines: object[]): void =>
    sendResponse(request, 200, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), {
      'content-type': 'application/x-ndjson',
    });

  service.respond = (request) => {
    if (request.path === '/annotation_queues/query') {
      const { name = '', limit = 1000 } = JSON.parse(request.body);
      const matching = allQueues().filter((queue) => String(queue.name).toLowerCase().includes(name.toLowerCase()));
      return sendLines(request, matching.slice(0, limit).map(complete));
    }
    if (request.path === '/calls/stream_query') {
      const { filter, expand_columns = [], limit = 1000, offset = 0 } = JSON.parse(request.body);
      const expanded = service.expands && expand_columns.includes('inputs.row');
      const row = expanded ? { ...(initialObjects[rowReference] as object), _ref: rowReference } : rowReference;
      return sendLines(
        request,
        (filter?.call_ids ?? service.calls)
          .slice(offset, offset + limit)
          .map((id: string) => ({ id, inputs: { row } })),
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
