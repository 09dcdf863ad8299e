import { createHash } from 'node:crypto';
import type { Answer, TestService } from './embedded-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
type Json = any;

/** Sends a request to a service. */
export type Send = (method: string, path: string, body?: object) => Promise<Json>;

/** Returns a function that sends requests to a service and returns the bodies of the responses; lines as a list. */
export function senderTo(url: string, authorization: string): Send {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} ended with ${response.status}: ${text}`);
    if (!response.headers.get('content-type')?.includes('ndjson')) return JSON.parse(text);
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  };
}

/** A UUID that follows from a number. */
export function uuidOf(number: number): string {
  const hex = createHash('sha256').update(String(number)).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * Fills a project with something of every kind: a file, versions of objects that refer to it and to a list of rows, calls with ids of
 * several forms, two queues of one name, judgements by ada and bob, and states.
 * @param calls the number of calls; every third has an id that is no UUID, and the last one has not ended.
 */
export async function fillProject(
  { service, ada, bob }: { service: TestService; ada: string; bob: string },
  project_id: string,
  calls: number,
): Promise<void> {
  const [as, asBob] = [senderTo(service.running.url, ada), senderTo(service.running.url, bob)];
  const { body }: Answer = await service.upload(ada, { project_id, file: 'def answer(): ...' });
  const create = async (object_id: string, val: object, kind = 'object'): Promise<string> => {
    const { digest } = await as('POST', '/obj/create', { obj: { project_id, object_id, val } });
    return `weave:///${project_id}/${kind}/${object_id}:${digest}`;
  };
  const marks = (name: string) => ({ _type: name, _class_name: name, _bases: ['Object', 'BaseModel'] });
  const op = { _type: 'CustomWeaveType', weave_type: { type: 'Op' }, files: { 'obj.py': body.digest } };
  const answer = await create('answer', op, 'op');
  const rows = [{ question: 'Why?', by: answer }, { question: 'How?' }];
  const table = await as('POST', '/table/create', { table: { project_id, rows } });
  const tableRef = `weave:///${project_id}/table/${table.digest}`;
  const dataset = await create('questions', { ...marks('Dataset'), name: 'questions', rows: tableRef });
  for (const trials of [1, 2]) await create('quality', { ...marks('Evaluation'), dataset, trials });
  const spec = (name: string, type: string) =>
    create(name, { ...marks('AnnotationSpec'), name, field_schema: { type } });
  const useful = await spec('useful', 'boolean');
  await spec('useful', 'boolean');
  await as('POST', '/cost/create', {
    project_id,
    costs: {
      'model-1': { prompt_token_cost: 0.5, completion_token_cost: 1.5, effective_date: '2026-01-01T00:00:00Z' },
    },
  });

  const idOf = (number: number): string => (number % 3 === 0 ? `call-${number}` : uuidOf(number));
  const batchSize = 1000;
  for (let first = 0; first < calls; first += batchSize) {
    const batch: object[] = [];
    for (let number = first; number < Math.min(calls, first + batchSize); number += 1) {
      const isRoot = number % 10 === 0;
      const start = {
        project_id,
        id: idOf(number),
        op_name: answer,
        trace_id: idOf(number - (number % 10)),
        parent_id: isRoot ? null : idOf(number - (number % 10)),
        started_at: new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString(),
        attributes: { weave: isRoot ? {} : { evaluation_run_id: idOf(number - (number % 10)) }, n: number },
        inputs: { row: `${dataset}/attr/rows/id/${table.row_digests[number % 2]}`, text: `é\u2028 ${number}` },
      };
      batch.push({ mode: 'start', req: { start } });
      if (number === calls - 1) continue;
      const end = {
        project_id,
        id: idOf(number),
        ended_at: new Date(Date.UTC(2026, 0, 1) + number * 1000 + 250).toISOString(),
        output:
          number % 7 === 0 ? null : { text: `output ${number}`, of: `weave:///${project_id}/call/${idOf(number)}` },
        ...(number % 7 === 0 && { exception: 'Error: 7' }),
        summary: { usage: { 'model-1': { requests: 1, prompt_tokens: number } } },
      };
      batch.push({ mode: 'end', req: { end } });
    }
    await as('POST', '/call/upsert_batch', { batch });
  }

  const queued = Math.min(60, calls);
  for (const [guidelines, from] of [
    ['Be fair.', 0],
    ['Be quick.', queued / 2],
  ] as const) {
    const queue = { project_id, name: 'review', description: guidelines, scorer_refs: [useful] };
    const { id: queue_id } = await as('POST', '/annotation_queues', queue);
    const call_ids = Array.from({ length: queued / 2 }, (_, at) => idOf(from + at));
    const display_fields = ['inputs.text'];
    await as('POST', `/annotation_queues/${queue_id}/items`, { project_id, call_ids, display_fields });
    const { items } = await as('POST', `/annotation_queues/${queue_id}/items/query`, { project_id });
    for (const [at, { id, call_id }] of items.entries()) {
      const feedback = (value: boolean) => ({
        project_id,
        weave_ref: `weave:///${project_id}/call/${call_id}`,
        feedback_type: 'wandb.annotation.useful',
        annotation_ref: useful,
        payload: { value },
        queue_id,
      });
      const progress = (annotation_state: string) =>
        ['POST', `/annotation_queues/${queue_id}/items/${id}/progress`, { project_id, annotation_state }] as const;
      if (at % 2 === 0) {
        await as('POST', '/feedback/create', feedback(false));
        await as('POST', '/feedback/create', feedback(true));
        await as(...progress(at % 4 === 0 ? 'completed' : 'in_progress'));
      }
      if (at % 3 === 0) {
        await asBob('POST', '/feedback/create', {
          ...feedback(false),
          creator: 'agent via heddle',
          id: uuidOf(1e6 + from + at),
        });
        await asBob(...progress('skipped'));
      }
    }
  }
  const note = { feedback_type: 'wandb.note.1', payload: { note: 'fine' } };
  await as('POST', '/feedback/create', { project_id, weave_ref: `weave:///${project_id}/call/call-0`, ...note });
}
