import { expect, vi } from 'vitest';
import { startTestService, type TestService, withStore } from './embedded-service.ts';
import { onEnd } from './on-end.ts';

/** The project that has the six recorded calls and no others. */
export const projectId = 'acme/support';

/** An id that no queue, item or call has. */
export const unknownId = '550e8400-e29b-41d4-a716-446655440000';

const calls = Array.from({ length: 6 }, (_, n) => ({
  call_id: `call-${n}`,
  call_op_name: n % 2 === 0 ? 'plan' : 'chat',
  call_trace_id: `trace-${Math.floor(n / 2)}`,
  call_started_at: `2026-01-0${n + 1}T00:00:00Z`,
  call_ended_at: `2026-01-0${n + 1}T00:00:00Z`,
  call: { inputs: { prompt: `prompt ${n}`, n }, output: { text: `response ${n}` } },
}));

/** The ids of the recorded calls, in the order in which the calls started. */
export const callIds = calls.map(({ call_id }) => call_id);

/** Matches a refusal with this status; its wording is free. */
export function refusal(status: number): object {
  return { status, body: { reason: expect.any(String) } };
}

/** Matches a refusal that names one invalid member of the request by its location. */
export function invalidAt(...loc: (string | number)[]): object {
  return { status: 422, body: { detail: [{ loc }] } };
}

/** A response; the values of a body of lines are a list. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into responses of every shape
type ServiceResponse = { status: number; body: any };

/** Returns the body of a successful response. */
export function bodyOf({ status, body }: ServiceResponse): ServiceResponse['body'] {
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

/** Advances the clock of this process, and so of the embedded service in it, by one second. */
export function advanceClock(): void {
  if (!vi.isFakeTimers()) {
    vi.useFakeTimers({ toFake: ['Date'] });
    onEnd(() => vi.useRealTimers());
  }
  vi.advanceTimersByTime(1000);
}

/** An embedded service with six recorded calls and the accounts ada and bob. Requests are ada's unless they say whose. */
export class ServiceWithCalls {
  readonly service: TestService;
  readonly passwords: { ada: string; bob: string };

  constructor(service: TestService, passwords: { ada: string; bob: string }) {
    this.service = service;
    this.passwords = passwords;
  }

  /** The storage of the service. */
  get data(): string {
    return this.service.data;
  }

  /** Sends a request as ada or bob, with the credentials `name:password`, or without any if they are empty. */
  async send(method: string, path: string, body?: object, who = 'ada'): Promise<ServiceResponse> {
    const { ada, bob } = this.passwords;
    const credentials = { ada: `ada:${ada}`, bob: `bob:${bob}` }[who] ?? who;
    const authorization = credentials === '' ? undefined : `Basic ${btoa(credentials)}`;
    const { status, body: received } = await this.service.send(method, path, authorization, body);
    // Only a body of a single JSON value has been parsed.
    if (status !== 200 || typeof received !== 'string') return { status, body: received };
    const lines = received.split('\n').filter((line) => line !== '');
    return { status, body: lines.map((line) => JSON.parse(line)) };
  }

  /** Sends a body with the project of the recorded calls, unless the members name another. */
  post(path: string, members: object = {}, who?: string): Promise<ServiceResponse> {
    return this.send('POST', path, { project_id: projectId, ...members }, who);
  }

  /** Creates a queue with these calls in this order, and these fields, and returns its id. */
  async createQueue({
    name = 'Queue',
    calls = [] as string[],
    display_fields = [] as string[],
    scorer_refs = [] as string[],
  } = {}): Promise<string> {
    const { id } = bodyOf(await this.post('/annotation_queues', { name, description: '', scorer_refs }));
    if (calls.length > 0) {
      bodyOf(await this.post(`/annotation_queues/${id}/items`, { call_ids: calls, display_fields }));
    }
    return id;
  }

  queryItems(queue: string, request: object = {}): Promise<ServiceResponse> {
    return this.post(`/annotation_queues/${queue}/items/query`, request);
  }

  /** Returns the given members of the items that a request finds. */
  async items(queue: string, request: object, ...members: string[]): Promise<Record<string, unknown>[]> {
    const { items } = bodyOf(await this.queryItems(queue, request));
    return items.map((item: Record<string, unknown>) => Object.fromEntries(members.map((name) => [name, item[name]])));
  }

  /** Returns the item of a call. */
  async item(queue: string, call_id: string): Promise<ServiceResponse['body']> {
    const { items } = bodyOf(await this.queryItems(queue, { filter: { call_id } }));
    return items[0];
  }

  /** Requests a state for the item of a call. */
  async move(queue: string, call_id: string, annotation_state: string, who?: string): Promise<ServiceResponse> {
    const { id } = await this.item(queue, call_id);
    return this.post(`/annotation_queues/${queue}/items/${id}/progress`, { annotation_state }, who);
  }

  /** Stores a version of an object and returns the reference to it by digest. */
  async createObject(object_id: string, val: object, members: object = {}): Promise<string> {
    const obj = { project_id: projectId, object_id, val, ...members };
    const { digest } = bodyOf(await this.send('POST', '/obj/create', { obj }));
    return `weave:///${obj.project_id}/object/${object_id}:${digest}`;
  }

  /** Imports recorded calls into a project. */
  async importCalls(project: string, lines: { call_id: string; [member: string]: unknown }[]): Promise<void> {
    const rest = { call_op_name: 'op', call_trace_id: 'trace', call_started_at: '2026-01-01T00:00:00Z' };
    await withStore(this.data, (store) =>
      store.importItems(
        lines.map((line) => JSON.stringify({ ...rest, ...line })),
        { projectId: project, queueId: 'seed' },
      ),
    );
  }
}

/**
 * Starts an embedded service with the recorded calls. The tests in test/service/public-service send it requests whose
 * responses are known from the public service.
 */
export async function startServiceWithCalls(): Promise<ServiceWithCalls> {
  const service = await startTestService();
  const passwords = await withStore(service.data, async (store) => ({
    ada: (await store.addUser('ada', 'all')).password,
    bob: (await store.addUser('bob', 'all')).password,
  }));
  const started = new ServiceWithCalls(service, passwords);
  await started.importCalls(projectId, calls);
  return started;
}
