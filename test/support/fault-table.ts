import type { Endpoint } from '../../src/contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../src/contract/endpoints.ts';
import { type ListedTool, tools } from '../../src/tools/definition/registry.ts';
import { exampleFor } from './call-every-tool.ts';
import type { Responder } from './fake-service.ts';
import {
  type FakeService,
  type RecordedRequest,
  sendGoodResponse,
  sendResponse,
  startFakeService,
} from './fake-service.ts';
import { routeOf } from './good-responses.ts';
import { bodies, type Expected, endless, others, routerBodies, statuses } from './service-faults.ts';
import type { ToolOutcome, ToolServer } from './tool-server.ts';

/** A fault of the service, and how a tool reports it when an operation meets it. */
export interface Fault {
  name: string;
  respond: Responder;
  expected: (met: Endpoint) => Expected;
}

/** A tool that meets a fault. */
export interface FaultCase {
  fault: Fault;
  tool: string;
}

/** The outcome of a tool call that met a fault. */
export interface FaultOutcome extends FaultCase {
  outcome: ToolOutcome;
  /** Names of the operations that met the fault, one for each request. */
  met: EndpointName[];
}

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
  expected: (met) => (met.lines && lines) || expected,
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
  const cases: (FaultCase & Pick<FaultOutcome, 'met'>)[] = [];
  service.respond = (request) => {
    service.requests.length = 0;
    // Like the public service, it cannot list its projects.
    if (request.path === '/projects') return sendResponse(request, 404, { detail: 'Not Found' });
    const entry = cases[caseIn(request.headers.traceparent)];
    const operation = routeOf(request)?.name;
    if (!entry || !operation) return sendGoodResponse(request);
    const { fault, tool, met } = entry;
    if (met.length === 0 && !isTarget(operation, toolNamed(tool))) return sendGoodResponse(request);
    met.push(operation);
    fault.respond(request);
  };
  const run: FaultService['run'] = async ({ call }, wanted, width = 30) => {
    const outcomes: FaultOutcome[] = [];
    const left = wanted.values();
    const runNext = async (): Promise<void> => {
      for (const { fault, tool } of left) {
        const entry = { fault, tool, met: [] };
        // The trace of a request says which of the concurrent calls sent it.
        const outcome = await call(tool, exampleFor(tool), traceOf(cases.push(entry) - 1));
        outcomes.push({ ...entry, outcome });
      }
    };
    await Promise.all(Array.from({ length: width }, runNext));
    return outcomes;
  };
  return { service, run };
}

/** Returns the `traceparent` of a case. An id of zeros alone would be invalid. */
function traceOf(index: number): string {
  return `00-${(index + 1).toString(16).padStart(32, '0')}-00f067aa0ba902b7-01`;
}

/** Returns the index of the case with a `traceparent`; -1 without one. */
function caseIn(traceparent = ''): number {
  return Number.parseInt(traceparent.slice(3, 35) || '0', 16) - 1;
}

/**
 * Returns whether the fault of a call begins with a request for this operation. The requests before it, with which a tool prepares a
 * change, succeed. An example that is a dry run changes nothing.
 */
function isTarget(operation: EndpointName, { name, uses, hints }: ListedTool): boolean {
  if (hints.readOnlyHint || exampleFor(name).dry_run === true) return uses.includes(operation);
  const once = uses.filter((name) => !endpoints[name].repeatable);
  return once.length > 0 ? once.includes(operation) : endpoints[operation].writes;
}

function toolNamed(name: string): ListedTool {
  return tools.find((tool) => tool.name === name)!;
}

interface ComparedOutcome {
  code: string;
  retryable: boolean | undefined;
  sent: number;
}

/**
 * Returns how an outcome is described and how it should be: the code, whether it may be tried again, and the number of requests.
 * @throws Error if no request met the fault.
 */
export function compareOutcome({ fault, tool, outcome, met }: FaultOutcome): {
  actual: ComparedOutcome;
  wanted: ComparedOutcome;
} {
  const [first] = met;
  if (first === undefined) throw new Error(`no request of ${tool} met ${fault.name}: ${JSON.stringify(outcome)}`);
  const [code, retryable, repeatable, once] = fault.expected(endpoints[first]);
  // After a good response a tool goes on; where something is missing, it may ask for something else instead.
  const sent = met.filter((name) => name === first).length;
  const counted = code === 'ok' ? 1 : code === 'not_found' || code === 'unsupported' ? sent : met.length;
  return {
    actual: { code: outcome.code, retryable: outcome.retryable, sent: counted },
    wanted: { code, retryable, sent: endpoints[first].repeatable ? repeatable : once },
  };
}

/** The tools whose main request must not be sent twice. */
export const unrepeatable = new Set(
  tools.filter(({ uses }) => uses.some((name) => !endpoints[name].repeatable)).map(({ name }) => name),
);
