import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type FakeService,
  type RecordedRequest,
  type Responder,
  sendGoodResponse,
  sendResponse,
  startFakeService,
} from '../support/fake-service.ts';
import { temporaryFolder } from '../support/heddle.ts';
import { bodies, type Expected, endless, others, routerBodies, statuses } from '../support/service-faults.ts';
import { tally } from '../support/tally.ts';
import { startToolServer, type ToolOutcome, type ToolServer, toolCalls, unrepeatable } from '../support/tool-server.ts';

const listsOfLines = new Set(['list_queues', 'query_calls', 'read_evaluation']);
const tools = Object.keys(toolCalls);
const home = temporaryFolder();

interface Case {
  name: string;
  fault: Responder;
  expected: (tool: string) => Expected;
}

const cases: Case[] = [
  ...Object.entries(statuses).flatMap(([status, expected]) =>
    Object.entries(bodies).map(([shape, [body, contentType = 'application/json']]) => ({
      name: `${status} with ${shape}`,
      fault: (request: Parameters<Responder>[0]) =>
        sendResponse(request, Number(status), status === '304' ? '' : body, {
          'content-type': contentType,
          location: 'http://localhost:1/elsewhere',
        }),
      expected: () =>
        status === '404' && routerBodies.has(shape) ? (['unsupported', false, 1, 1] satisfies Expected) : expected,
    })),
  ),
  ...Object.entries(others).map(([name, { fault, expected, lines }]) => ({
    name,
    fault,
    expected: (tool: string): Expected => {
      if (!lines || !listsOfLines.has(tool)) return expected;
      // An empty list of runs lacks the run that was asked for.
      return tool === 'read_evaluation' ? ['not_found', false, 1, 1] : lines;
    },
  })),
];

const endlessCases = Object.entries(endless).map(([name, fault]) => ({
  name,
  fault,
  expected: (): Expected => ['timeout', true, 1, 1],
}));

const service: FakeService = await startFakeService();
let server: ToolServer;
let impatientServer: ToolServer;
const outcomes = new Map<string, ToolOutcome>();

/** Marks the project of a case, so the requests of parallel cases can be counted. */
const keyOf = (index: number): string => `case-${index}-`;
const requestsOf = (index: number, tool: string): number =>
  service.requests.filter(
    (request) => !isLookup(request) && `${request.path}${request.body}`.includes(`${keyOf(index)}${tool}`),
  ).length;

/** Returns whether a request only prepares a change. It gets a good response. */
const isLookup = ({ path, body }: RecordedRequest): boolean =>
  (path === '/obj/read' && !body.includes('read_object')) ||
  (path === '/objs/query' && /create_(evaluation|dataset|scorer)|read_object/.test(body)) ||
  (path === '/annotation_queues/query' && /create_queue|add_queue_items/.test(body));

async function runAll(list: Case[], first: number, { call }: ToolServer): Promise<void> {
  const queue = list.flatMap((_, index) => tools.map((tool) => ({ index: first + index, tool })));
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { index, tool } = next;
      const args = toolCalls[tool]!(`${keyOf(index)}${tool}`);
      outcomes.set(`${index} ${tool}`, await call(tool, args));
    }
  };
  await Promise.all(Array.from({ length: 30 }, lane));
}

beforeAll(async () => {
  const all = [...cases, ...endlessCases];
  service.respond = (request) => {
    const index = /case-(\d+)-/.exec(`${request.path}${request.body}`)?.[1];
    // Like the public service, it cannot list its projects.
    if (request.path === '/projects') sendResponse(request, 404, { detail: 'Not Found' });
    else if (index === undefined || isLookup(request)) sendGoodResponse(request);
    else all[Number(index)]!.fault(request);
  };
  [server, impatientServer] = await Promise.all([
    startToolServer(service.url, home, { HEDDLE_TIMEOUT_MS: '60000', HEDDLE_INFERENCE_TIMEOUT_MS: '60000' }),
    startToolServer(service.url, home, { HEDDLE_TIMEOUT_MS: '4000', HEDDLE_INFERENCE_TIMEOUT_MS: '4000' }),
  ]);
  await Promise.all([runAll(cases, 0, server), runAll(endlessCases, cases.length, impatientServer)]);
  tally('faults', all.length * tools.length);
}, 240_000);

afterAll(async () => {
  await Promise.all([server?.client.close(), impatientServer?.client.close()]);
});

describe.each([...cases, ...endlessCases].map((entry, index) => ({ ...entry, index })))(
  'a response with $name',
  (entry) => {
    const { index, expected } = entry;
    it.each(tools)('gives the expected error code and number of requests for %s', (tool) => {
      const [code, retryable, repeatable, once] = expected(tool);
      const result = outcomes.get(`${index} ${tool}`);
      if (result === undefined) tally('hung', 1);
      const requests = requestsOf(index, tool);
      // At a service without a query of objects, list_objects asks for the list of the kind.
      const attempts = tool === 'list_objects' && code === 'unsupported' ? 2 * repeatable : repeatable;
      const wanted = unrepeatable.has(tool) ? once : attempts;
      // After a good response, some tools send further requests.
      const sent = code === 'ok' ? Math.min(requests, 1) : requests;
      if (unrepeatable.has(tool) && sent > wanted) tally('doubled', 1);
      expect({ code: result?.code, retryable: result?.retryable, sent }, JSON.stringify(result)).toEqual({
        code,
        retryable,
        sent: wanted,
      });
    });
  },
);

describe('after all faults', () => {
  it('a Retry-After beyond the deadline is reported in milliseconds', () => {
    const seconds = cases.findIndex(({ name }) => name === '429, Retry-After beyond the deadline');
    const date = cases.findIndex(({ name }) => name === '429, Retry-After as a date beyond the deadline');
    for (const tool of tools) {
      expect(outcomes.get(`${seconds} ${tool}`)?.retry_after_ms).toBe(120_000);
      expect(outcomes.get(`${date} ${tool}`)?.retry_after_ms).toBeGreaterThan(3_000_000);
    }
  });

  it('the hint says that the service may have carried out a request that must not be repeated', () => {
    for (const name of ['reset after the request was read', 'no response at all', '502 with html']) {
      const index = [...cases, ...endlessCases].findIndex((entry) => entry.name === name);
      for (const tool of tools) {
        const { hint } = outcomes.get(`${index} ${tool}`)!;
        if (unrepeatable.has(tool)) expect(hint).toContain('may have carried it out');
        else expect(hint).not.toContain('may have carried it out');
      }
    }
  });

  it('no error contains a credential, and no hint contains text of the service', () => {
    expect(JSON.stringify([...outcomes.values()])).not.toMatch(/password-of-user|token-of-user/);
    for (const { hint } of outcomes.values()) expect(hint ?? '').not.toContain('some text');
  });

  it('every tool works, and neither sockets nor memory have grown', async () => {
    service.respond = others['no fault']!.fault;
    for (const { call, pid, stderr } of [server, impatientServer]) {
      for (const tool of tools) {
        const { code } = await call(tool, toolCalls[tool]!('well'));
        if (code !== 'ok') tally('crashed', 1);
        expect([tool, code]).toEqual([tool, 'ok']);
      }
      expect(stderr()).not.toContain('"level":"error"');
      if (process.platform === 'linux') {
        const files = readdirSync(`/proc/${pid}/fd`).map((fd) => {
          try {
            return readlinkSync(`/proc/${pid}/fd/${fd}`);
          } catch {
            return '';
          }
        });
        expect(files.filter((file) => file.startsWith('socket:')).length).toBeLessThanOrEqual(40);
        const [, peakKb] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
        console.log(`peak memory of the server: ${Math.round(Number(peakKb) / 1024)} MB`);
        // Thirty calls at once, some of them with responses of 32 MiB: 725 to 920 MB were seen.
        expect(Number(peakKb)).toBeLessThan(1_500_000);
      }
    }
  });
});
