import type { Send } from './filled-project.ts';

// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
type Json = any;

/** Everything that a service has of a project, in a form that is equal for equal projects at different services. */
export interface WholeProject {
  calls: Json[];
  objects: Json[];
  queues: Json[];
  feedback: Json[];
}

const digest = /\b([\dA-Za-z]{43}|[\da-f]{64})\b/g;
const uuid = /\b[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\b/g;

/**
 * Reads a project whole. Digests are replaced by the names of what they stand for, and the project by `PROJECT`.
 * @param idsHere the ids to put in the place of ids of calls.
 */
export async function readWholeProject(
  send: Send,
  project_id: string,
  idsHere: ReadonlyMap<string, string> = new Map(),
): Promise<WholeProject> {
  const post = (path: string, body: object = {}): Promise<Json> => send('POST', path, { project_id, ...body });
  const { objs } = await post('/objs/query');
  const labels = new Map<string, string>();
  for (const { object_id, version_index, digest } of objs) labels.set(digest, `${object_id} v${version_index}`);
  const objects: Json[] = [];
  for (const { object_id, version_index, val, base_object_class, is_latest } of objs) {
    const [, table] = /\/table\/(\w+)$/.exec(String(val.rows)) ?? [];
    const rows = table ? (await post('/table/query', { digest: table })).rows : [];
    if (table) labels.set(table, `rows of ${object_id}`);
    for (const [at, row] of rows.entries()) labels.set(row.digest, `row ${at}`);
    objects.push({
      object_id,
      version_index,
      val,
      base_object_class,
      is_latest,
      rows: rows.map((row: Json) => row.val),
    });
  }
  const plain = (value: Json): Json =>
    JSON.parse(
      JSON.stringify(value)
        .replaceAll(digest, (text) => labels.get(text) ?? text)
        .replaceAll(uuid, (text) => idsHere.get(text) ?? text)
        .replaceAll(`weave:///${project_id}/`, 'weave:///PROJECT/'),
    );
  const calls = plain(await post('/calls/stream_query')).map((call: Json) => {
    const { id, op_name, trace_id, parent_id, started_at, ended_at, attributes, inputs, output, exception } = call;
    const { weave: _, ...summary } = call.summary ?? {};
    const times = [started_at, ended_at && ended_at].map((time) => time && Date.parse(time));
    return { id, op_name, trace_id, parent_id, times, attributes, inputs, output: output ?? null, exception, summary };
  });
  const queues: Json[] = [];
  const names = new Map<string, string>();
  for (const { id, name, description, scorer_refs } of await post('/annotation_queues/query')) {
    names.set(id, `${name}: ${description}`);
    const { items } = await post(`/annotation_queues/${id}/items/query`);
    const shown = items.map(({ call_id, annotation_state, display_fields }: Json) => [
      call_id,
      annotation_state,
      display_fields,
    ]);
    if (items.length > 0) queues.push(plain({ name, description, scorer_refs, items: shown }));
  }
  const { result } = await post('/feedback/query');
  const feedback = plain(result).map(
    ({ id, weave_ref, feedback_type, payload, annotation_ref, queue_id, wb_user_id, creator }: Json) => ({
      id,
      weave_ref,
      feedback_type,
      payload,
      annotation_ref: annotation_ref ?? null,
      queue: names.get(queue_id) ?? null,
      user: wb_user_id,
      creator: creator ?? null,
    }),
  );
  const byText = (a: Json, b: Json): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  return {
    calls: calls.sort((a: Json, b: Json) => (a.id < b.id ? -1 : 1)),
    objects: plain(objects).sort(byText),
    queues: queues.sort(byText),
    // That on one call stays in its order: the latest judgement counts.
    feedback: feedback.sort((a: Json, b: Json) => byText(a.weave_ref, b.weave_ref)),
  };
}
