import type { Responder } from './fake-service.ts';
import {
  type FakeService,
  type RecordedRequest,
  sendGoodResponse,
  sendResponse,
  startFakeService,
} from './fake-service.ts';
import { bodies, type Expected, endless, others, routerBodies, statuses } from './service-faults.ts';
import { type ToolOutcome, type ToolServer, toolCalls } from './tool-server.ts';

/** A fault of the service, and how each tool reports it. */
export interface Fault {
  name: string;
  respond: Responder;
  expected: (tool: string) => Expected;
}

/** A tool that meets a fault. */
export interface FaultCase {
  fault: Fault;
  tool: string;
}

/** The outcome of a tool call that met a fault. */
export interface FaultOutcome extends FaultCase {
  outcome: ToolOutcome;
  /** Number of requests that it has sent, without those that only prepare a change. */
  sent: number;
}

/** Tools whose first response is lines of JSON, of which there may be none. */
const listsOfLines = new Set(['list_queues', 'query_calls', 'read_evaluation']);

/** Every status with every form of an error body. */
export const statusFaults: Fault[] = Object.entries(statuses).flatMap(([status, expected]) =>
  Object.entries(bodies).map(([shape, [body, contentType = 'application/json']]) => ({
    name: `${status} with ${shape}`,
    respond: (request: RecordedRequest) =>
      sendResponse(request, Number(status), status === '304' ? '' : body, {
        'content-type': contentType,
        location: 'http://localhost:1/elsewhere',
      }),
    expected: () =>
      status === '404' && routerBodies.has(shape) ? (['unsupported', false, 1, 1] satisfies Expected) : expected,
  })),
);

/** Every other fault, and none. */
export const otherFaults: Fault[] = Object.entries(others).map(([name, { fault, expected, lines }]) => ({
  name,
  respond: fault,
  expected: (tool) => {
    if (!lines || !listsOfLines.has(tool)) return expected;
    // An empty list of runs lacks the run that was asked for.
    return tool === 'read_evaluation' ? ['not_found', false, 1, 1] : lines;
  },
}));

/** The faults that only the deadline ends. */
export const endlessFaults: Fault[] = Object.entries(endless).map(([name, respond]) => ({
  name,
  respond,
  expected: () => ['timeout', true, 1, 1],
}));

/** Names of one fault for each code of an error, for each rule of retries and for each way in which reading a response fails. */
export const toldApart = new Set([
  '301 with reason',
  '400 with reason',
  '401 with reason',
  '402 with reason',
  '403 with reason',
  '404 with reason',
  '404 with empty',
  '408 with reason',
  '409 with reason',
  '413 with reason',
  '422 with details',
  '429 with reason',
  '502 with html',
  '503 with reason',
  '507 with reason',
  'no fault',
  '429, Retry-After beyond the deadline',
  '429, Retry-After as a date beyond the deadline',
  '503, Retry-After 0',
  'HTML with 200',
  'JSON of another shape with 200',
  'cut JSON with 200',
  'an empty body with 200',
  'gzip that is cut',
  'reset after the request was read',
  'reset in the body',
  'no response at all',
]);

export interface FaultService {
  service: FakeService;
  /** Calls each tool while the service responds with its fault, 30 calls at a time unless `width` says otherwise. */
  run: (server: ToolServer, cases: FaultCase[], width?: number) => Promise<FaultOutcome[]>;
}

/** Starts a service for calls that meet faults at the same time, each a fault of its own. */
export async function startFaultService(): Promise<FaultService> {
  const service = await startFakeService();
  const met: { fault: Fault; sent: number }[] = [];
  service.respond = (request) => {
    service.requests.length = 0;
    const index = /case-(\d+)-/.exec(`${request.path}${request.body}`)?.[1];
    // Like the public service, it cannot list its projects.
    if (request.path === '/projects') return sendResponse(request, 404, { detail: 'Not Found' });
    if (index === undefined || isLookup(request)) return sendGoodResponse(request);
    const entry = met[Number(index)]!;
    entry.sent += 1;
    entry.fault.respond(request);
  };
  const run: FaultService['run'] = async ({ call }, cases, width = 30) => {
    const outcomes: FaultOutcome[] = [];
    const left = cases.values();
    const runNext = async (): Promise<void> => {
      for (const { fault, tool } of left) {
        const entry = { fault, sent: 0 };
        const index = met.push(entry) - 1;
        // The project of a request says which of the concurrent calls sent it.
        const outcome = await call(tool, toolCalls[tool]!(`case-${index}-${tool}`));
        outcomes.push({ fault, tool, outcome, sent: entry.sent });
      }
    };
    await Promise.all(Array.from({ length: width }, runNext));
    return outcomes;
  };
  return { service, run };
}

/** Returns whether a request only prepares a change. It gets a good response. */
function isLookup({ path, body }: RecordedRequest): boolean {
  return (
    (path === '/obj/read' && !body.includes('read_object')) ||
    (path === '/objs/query' && /create_(evaluation|dataset|scorer)|read_object/.test(body)) ||
    (path === '/annotation_queues/query' && /create_queue|add_queue_items/.test(body))
  );
}
