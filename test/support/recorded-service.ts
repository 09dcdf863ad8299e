import { type FakeService, type RecordedRequest, sendResponse, startFakeService } from './fake-service.ts';

const project = 'team/project';
const digest = (letter: string): string => letter.repeat(43);

/** References of the fields of the queue `q`. */
export const helpfulField = `weave:///${project}/object/helpful:${digest('h')}`;
export const scoreField = `weave:///${project}/object/score:${digest('s')}`;

const objects: Record<string, unknown> = {
  [helpfulField]: { _class_name: 'AnnotationSpec', name: 'Helpful', field_schema: { type: 'boolean' } },
  [scoreField]: { _class_name: 'AnnotationSpec', field_schema: { type: 'integer', minimum: 1, maximum: 5 } },
  [`weave:///${project}/object/rows:${digest('r')}/attr/rows/id/${digest('1')}`]: { question: 'Is it safe?' },
};
/** A reference to a row of a dataset, which the recorded calls have as input. */
export const rowReference = Object.keys(objects)[2]!;

export interface RecordedService extends FakeService {
  /** The queue's references to its fields. */
  fields: string[];
  /** Paths that the service does not have. */
  missing: Set<string>;
  /** Replaces references at expand_columns; older services do not know the member. */
  expands: boolean;
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
    missing: new Set<string>(),
    expands: true,
    states: new Map<string, string>(),
    bodiesOf: (path: string) =>
      service.requests.filter((request) => request.path === path).map(({ body }) => JSON.parse(body)),
    environmentOf: (username: string) => ({ ...service.environment, HEDDLE_USERNAME: username }),
  });
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
  const createFeedback = (body: any): object | string => {
    if (!body.feedback_type.startsWith('wandb.annotation.')) return stored(body);
    if (!body.annotation_ref) return 'annotation_ref is required for annotation feedback';
    if (body.annotation_ref.endsWith(':latest')) return `Invalid ref: ${body.annotation_ref}`;
    const { value } = body.payload;
    const fits =
      body.annotation_ref === helpfulField
        ? typeof value === 'boolean'
        : body.annotation_ref === scoreField && Number.isInteger(value) && value >= 1 && value <= 5;
    return fits ? stored(body) : 'Feedback payload does not match annotation spec';
  };
  const stored = ({ id }: { id: string }) => ({ id, created_at: '2026-01-03T00:00:00', wb_user_id: 'u', payload: {} });

  const handle = ({ method, path, headers, body: text }: RecordedRequest): object | string | undefined => {
    const body = text === '' ? {} : JSON.parse(text);
    const annotator = Buffer.from((headers.authorization ?? '').slice(6), 'base64')
      .toString()
      .split(':')[0]!;
    const [, item] = /^[/]annotation_queues[/]q[/]items[/](\w+)[/]progress$/.exec(path) ?? [];
    if (service.missing.has(path)) return undefined;
    if (item) return setProgress(item, annotator, body.annotation_state);
    if (path === '/annotation_queues/q/items/query') {
      const items = ['i1', 'i2', 'i3'].map(itemOf);
      return { items: items.filter(({ id }) => !body.filter?.id || body.filter.id === id) };
    }
    if (path.startsWith('/annotation_queues/q?') && method === 'GET') {
      const queue = { id: 'q', project_id: project, name: 'Q', description: '', scorer_refs: service.fields };
      return { queue: { ...queue, created_at: '2026-01-01T00:00:00Z', created_by: 'user-1' } };
    }
    if (path === '/refs/read_batch') return readReferences(body.refs);
    if (path === '/obj/read') {
      const ref = Object.keys(objects).find((key) => key.includes(`/${body.object_id}:`));
      if (!ref) return undefined;
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
    if (path === '/feedback/create') return createFeedback(body);
    if (path === '/feedback/batch/create') {
      const res = body.batch.map(createFeedback);
      return res.find((entry: unknown) => typeof entry === 'string') ?? { res };
    }
    return undefined;
  };

  service.respond = (request) => {
    if (request.path === '/calls/stream_query') {
      const { filter, expand_columns = [] } = JSON.parse(request.body);
      const expanded = service.expands && expand_columns.includes('inputs.row');
      const row = expanded ? { ...(objects[rowReference] as object), _ref: rowReference } : rowReference;
      const lines = filter.call_ids.map((id: string) => `${JSON.stringify({ id, inputs: { row } })}\n`);
      return sendResponse(request, 200, lines.join(''), { 'content-type': 'application/x-ndjson' });
    }
    const answer = handle(request);
    if (answer === undefined) return sendResponse(request, 404, { detail: 'Not Found' });
    if (typeof answer === 'string') return sendResponse(request, 400, { reason: answer });
    sendResponse(request, 200, answer);
  };
  return service;
}
