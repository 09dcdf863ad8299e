import { createHash } from 'node:crypto';
import { type RecordedRequest, sendResponse } from './fake-service.ts';
import { type RecordedService, startRecordedService } from './recorded-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
type Json = any;

/** The project of the recorded service. */
export const publicProject = 'team/project';

export interface PublicTarget extends RecordedService {
  /** The number of times that each call was recorded, by its id. */
  recorded: Map<string, number>;
  /** Called with each request before it is answered; the request gets no answer if the result is false. */
  onRequest: (request: RecordedRequest) => boolean;
  /** Returns the reason for which a request is refused with status 400. */
  refusalOf: (path: string, body: Json) => string | undefined;
}

const uuid = /^[\da-f]{8}-?([\da-f]{4}-?){3}[\da-f]{12}$/i;

/**
 * Starts a service that answers as the public service was recorded to, and to which calls, files and prices can be sent. Ids of calls and
 * traces that are neither UUIDs nor those of OpenTelemetry make it fail with status 500, as there. Objects and rows have other digests.
 */
export async function startPublicTarget(): Promise<PublicTarget> {
  const recordedService = await startRecordedService();
  const { respond } = recordedService;
  const service: PublicTarget = Object.assign(recordedService, {
    recorded: new Map<string, number>(),
    onRequest: () => true,
    refusalOf: () => undefined,
  });
  service.calls = [];
  const calls = new Map<string, Json>();
  const files = new Map<string, string>();
  const tables = new Map<string, number>();
  const prices: Json[] = [];

  const start = (call: Json): void => {
    if (!uuid.test(call.id) && !/^[\da-f]{16}$/i.test(call.id)) throw new Error('Internal Server Error');
    if (!uuid.test(call.trace_id)) throw new Error('Internal Server Error');
    service.recorded.set(call.id, (service.recorded.get(call.id) ?? 0) + 1);
    const stored = calls.get(call.id) ?? {
      ...call,
      exception: call.exception ?? null,
      ended_at: call.ended_at ?? null,
    };
    if (!calls.has(call.id)) service.calls.push(stored);
    calls.set(call.id, stored);
  };
  const end = (call: Json): void => void Object.assign(calls.get(call.id) ?? {}, call);

  const answer = (path: string, text: string): Json => {
    if (path === '/file/create') {
      const content = /filename=.*?\r\n\r\n(.*?)\r\n--/s.exec(text)?.[1] ?? '';
      const digest = createHash('sha256').update(content).digest('base64url').replaceAll('-', 'X').replaceAll('_', 'Y');
      files.set(digest, content);
      return { digest };
    }
    const body = text === '' ? {} : JSON.parse(text);
    if (path === '/cost/query') return { results: prices };
    if (path === '/cost/create') {
      const added = Object.entries<Json>(body.costs).map(([llm_id, cost]) => ({
        ...cost,
        llm_id,
        id: `p${prices.length}`,
      }));
      prices.push(...added);
      return { ids: added.map(({ id, llm_id }) => [id, llm_id]) };
    }
    if (path === '/table/query_stats') return { count: tables.get(body.digest) ?? 0 };
    if (!path.startsWith(`/v2/${publicProject}/call`)) return undefined;
    if (path.endsWith('/calls/complete')) {
      // None is recorded if one of them is invalid.
      for (const call of body.batch)
        if (!uuid.test(call.id) && call.id.length !== 16) throw new Error('Internal Server Error');
      body.batch.forEach(start);
      return {};
    }
    if (path.endsWith('/call/start')) start(body.start);
    else end(body.end);
    return { id: body.start?.id ?? '', trace_id: body.start?.trace_id ?? '' };
  };

  service.respond = (request) => {
    if (!service.onRequest(request)) return;
    const { path, body } = request;
    const isForm = path === '/file/create';
    const reason = isForm ? undefined : service.refusalOf(path, body === '' ? {} : JSON.parse(body));
    if (reason !== undefined) return sendResponse(request, 400, { reason });
    if (path === '/file/content') return sendResponse(request, 200, files.get(JSON.parse(body).digest) ?? '');
    if (path === '/table/create') {
      const { rows } = JSON.parse(body).table;
      tables.set(createHash('sha256').update(JSON.stringify(rows)).digest('hex'), rows.length);
    }
    const ids: string[] | undefined = path === '/calls/stream_query' ? JSON.parse(body).filter?.call_ids : undefined;
    if (ids?.length) {
      const lines = [...new Set(ids)].flatMap((id) => (calls.has(id) ? [`${JSON.stringify(calls.get(id))}\n`] : []));
      return sendResponse(request, 200, lines.join(''), { 'content-type': 'application/x-ndjson' });
    }
    try {
      const found = answer(path, body);
      if (found === undefined) respond(request);
      else sendResponse(request, 200, found);
    } catch (error) {
      sendResponse(request, 500, (error as Error).message);
    }
  };
  return service;
}
