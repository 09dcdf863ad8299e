import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import { type ConnectedClient, connectClient } from './client.ts';
import { emptyHome, temporaryFolder } from './heddle.ts';
import { onEnd } from './on-end.ts';
import { startRecordedService } from './recorded-service.ts';
import { startServiceWithCalls } from './service-with-calls.ts';

const projectId = 'team/project';

/** A service to which tests do the same, whichever of the two it is. It has the calls of this file. */
export interface EitherService {
  name: 'the embedded service' | 'the recorded public service';
  url: string;
  /** Clients of two annotators; they cannot be asked. */
  ada: ConnectedClient;
  bob: ConnectedClient;
  /** The settings of a heddle that an annotator uses. */
  environmentOf: (annotator: 'ada' | 'bob') => Record<string, string>;
  /** The name of an annotator in judgements. */
  nameOf: (annotator: 'ada' | 'bob') => string;
  /** Returns the feedback that the service has stored for a queue, the oldest first. */
  // biome-ignore lint/suspicious/noExplicitAny: feedback of every shape
  feedbackOf: (queueId: string) => Promise<any[]>;
  /** Stores a judgement of ada in the field helpful without heddle, as a page for people does. */
  judgeByHand: (queueId: string, callId: string, value: boolean) => Promise<void>;
  /** Gives a queue other guidelines. */
  describeQueue: (queueId: string, description: string) => Promise<void>;
}

const call = (call_id: string, day: number, op: string, trace: string, rest: object) => ({
  call_id,
  call_op_name: op,
  call_trace_id: trace,
  call_started_at: `2026-01-${String(day).padStart(2, '0')}T00:00:00Z`,
  call: rest,
});
const calls = [
  call('plain', 1, 'answer', 'trace-1', { inputs: { question: 'Wo ist die "Prüfung"?' }, output: 'Here.' }),
  call('failed', 2, 'weave:///team/project/op/answer:abc', 'trace-1', {
    inputs: { question: 'Why?' },
    exception: 'ValueError: no answer',
  }),
  call('newer', 3, 'weave:///team/project/op/answer:def', 'trace-2', {
    inputs: { question: 'Where?' },
    output: { text: 'Over THERE' },
  }),
  call('other', 4, 'weave:///team/project/op/reanswer:abc', 'trace-3', { inputs: {}, output: null }),
  ...Array.from({ length: 6 }, (_, n) =>
    call(`call-${n}`, 11 + n, n % 2 ? 'chat' : 'plan', `trace-of-${n}`, {
      inputs: { prompt: `prompt ${n}` },
      output: { text: `response ${n}` },
    }),
  ),
  ...Array.from({ length: 120 }, (_, n) => call(`bulk-${n}`, 20, 'bulk', 'trace-bulk', { inputs: { n } })),
];

/** Starts the embedded service and one that answers as the public service, with the same calls and annotators. */
export async function startBothServices(): Promise<EitherService[]> {
  return Promise.all([startEmbedded(), startPublic()]);
}

async function startEmbedded(): Promise<EitherService> {
  const started = await startServiceWithCalls();
  await started.importCalls(projectId, calls);
  return complete({
    name: 'the embedded service',
    url: started.service.running.url,
    passwords: started.passwords,
    nameOf: (annotator) => `${annotator} (test via heddle)`,
  });
}

async function startPublic(): Promise<EitherService> {
  const started = await startRecordedService();
  started.calls = calls.map(({ call_id, call_op_name, call_trace_id, call_started_at, call: rest }) => ({
    id: call_id,
    op_name: call_op_name,
    trace_id: call_trace_id,
    started_at: call_started_at,
    ...rest,
  }));
  return complete({
    name: 'the recorded public service',
    url: started.url,
    passwords: { ada: 'password-of-ada', bob: 'password-of-bob' },
    nameOf: (annotator) => `user-${annotator} (test via heddle)`,
  });
}

type StartedService = Pick<EitherService, 'name' | 'url' | 'nameOf'> & { passwords: { ada: string; bob: string } };

async function complete({ name, url, nameOf, passwords }: StartedService): Promise<EitherService> {
  const environmentOf: EitherService['environmentOf'] = (annotator) =>
    emptyHome(temporaryFolder(), {
      HEDDLE_BASE_URL: url,
      HEDDLE_PROJECT: projectId,
      HEDDLE_USERNAME: annotator,
      HEDDLE_PASSWORD: passwords[annotator],
    });
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  const send = async (method: string, path: string, body?: object): Promise<any> => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Basic ${btoa(`ada:${passwords.ada}`)}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify({ project_id: projectId, ...body }) }),
    });
    if (!response.ok) throw new Error(`${path} ended with ${response.status}`);
    return response.json();
  };
  const feedbackOf: EitherService['feedbackOf'] = async (queueId) => {
    const query = { $expr: { $eq: [{ $getField: 'queue_id' }, { $literal: queueId }] } };
    const sort_by = [{ field: 'created_at', direction: 'asc' }];
    return (await send('POST', '/feedback/query', { query, sort_by })).result;
  };
  const judgeByHand: EitherService['judgeByHand'] = async (queue_id, callId, value) => {
    const { queue } = await send('GET', `/annotation_queues/${queue_id}?project_id=${projectId}`);
    await send('POST', '/feedback/create', {
      weave_ref: `weave:///${projectId}/call/${callId}`,
      feedback_type: 'wandb.annotation.helpful',
      annotation_ref: queue.scorer_refs[0],
      payload: { value },
      queue_id,
    });
  };
  const describeQueue: EitherService['describeQueue'] = async (queueId, description) => {
    await send('PUT', `/annotation_queues/${queueId}`, { description });
  };
  const [ada, bob] = await Promise.all([connectClient(environmentOf('ada')), connectClient(environmentOf('bob'))]);
  return { name, url, ada, bob, environmentOf, nameOf, feedbackOf, judgeByHand, describeQueue };
}

let queues = 0;

/** Creates a queue with the fields helpful and score. Returns its id, and the ids of its items in the order of the calls. */
export async function createQueue(
  { ada }: Pick<EitherService, 'ada'>,
  call_ids: string[],
): Promise<{ queue_id: string; ids: string[] }> {
  queues += 1;
  const { queue_id } = await ada.call('create_queue', {
    name: `Queue ${queues}`,
    fields: [
      { name: 'helpful', type: 'boolean' },
      { name: 'score', type: 'integer', min: 1, max: 5 },
    ],
  });
  await ada.call('add_queue_items', { queue_id, call_ids, confirm: true });
  const { items } = await ada.call('query_queue_items', { queue_id, limit: call_ids.length });
  const idsByCall = new Map(items.map((item: { id: string; call_id: string }) => [item.call_id, item.id]));
  return { queue_id, ids: call_ids.map((id) => String(idsByCall.get(id))) };
}

/** Judges a field of items, by default helpful, with one call; undefined leaves an item out. */
export async function judge(
  { call }: ConnectedClient,
  queue_id: string,
  ids: string[],
  values: (boolean | number | undefined)[],
  field = 'helpful',
): Promise<void> {
  const items = ids.flatMap((item_id, n) =>
    values[n] === undefined ? [] : [{ item_id, judgements: { [field]: values[n] } }],
  );
  if (items.length === 0) return;
  const { counts } = await call('update_queue_items', { queue_id, items, confirm: true });
  expect(counts).toEqual({ done: items.length });
}

/** Returns the text of a prompt. */
export async function promptOf(
  { client }: ConnectedClient,
  name: string,
  args: Record<string, string>,
): Promise<string> {
  const { messages } = await client.getPrompt({ name, arguments: args });
  return messages.map(({ content }) => (content.type === 'text' ? content.text : '')).join('\n');
}

/** Returns the ids of the first of the 120 calls of the operation `bulk`. */
export function bulkCalls(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `bulk-${n}`);
}

/**
 * Starts a proxy to a service, for as long as the test runs, and returns its URL. `fateOf` decides by the path of a request
 * whether its response passes or is lost after the service has done its work, or whether the request is refused with 403 or
 * as one that the service does not have.
 */
export async function startProxy(
  url: string,
  fateOf: (path: string) => 'pass' | 'lose' | 'refuse' | 'miss',
): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const body = await buffer(request);
    const fate = fateOf(path);
    if (fate === 'refuse') {
      return response.writeHead(403, { 'content-type': 'application/json' }).end('{"reason":"Forbidden"}');
    }
    if (fate === 'miss') {
      return response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
    }
    const passed = await fetch(url + path, {
      method,
      headers: { authorization: headers.authorization ?? '', 'content-type': 'application/json' },
      ...(method === 'POST' && { body }),
    });
    const bytes = Buffer.from(await passed.arrayBuffer());
    if (fate === 'lose') return request.socket.destroy();
    response.writeHead(passed.status, { 'content-type': passed.headers.get('content-type') ?? '' }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
