import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toolNames } from '../pins/tools.ts';
import { exampleFor } from '../support/call-every-tool.ts';
import { sendGoodResponse } from '../support/fake-service.ts';
import {
  compareOutcome,
  endlessFaults,
  type Fault,
  type FaultCase,
  type FaultOutcome,
  otherFaults,
  startFaultService,
  statusFaults,
  toldApart,
  unrepeatable,
} from '../support/fault-table.ts';
import { tally } from '../support/tally.ts';
import { startToolServer, type ToolServer } from '../support/tool-server.ts';

const tools = toolNames;

/*
 * The client in src/client judges each response before a tool sees it: by its status and body (failures.ts), by whether the
 * operation is repeatable (retry-policy.ts), and a success by whether it is JSON or lines of JSON (responses.ts). So each
 * fault meets one tool of each such kind. From there on a tool has nothing but the code of an error to tell faults apart, as
 * in with-fallback.ts and require-queue.ts. So every tool meets only a fault for each code, for each rule of retries and for each
 * way in which reading a response fails: `toldApart`. The lane `hostile` gives every tool all faults but those of `statusFaults`.
 */
const repeatableAndNot = ['read_call', 'create_queue'];
const oneOfEachKind = [...repeatableAndNot, 'list_queues'];
const faults = [...statusFaults, ...otherFaults, ...endlessFaults];
function toolsThatMeet(fault: Fault): string[] {
  if (toldApart.has(fault.name)) return tools;
  return statusFaults.includes(fault) ? repeatableAndNot : oneOfEachKind;
}
const casesOf = (list: Fault[]): FaultCase[] =>
  list.flatMap((fault) => toolsThatMeet(fault).map((tool) => ({ fault, tool })));

const { service, run } = await startFaultService();
let server: ToolServer;
let impatientServer: ToolServer;
const outcomes = new Map<string, FaultOutcome>();
const outcomeOf = (fault: string, tool: string): FaultOutcome => outcomes.get(`${fault} ${tool}`)!;

beforeAll(async () => {
  [server, impatientServer] = await Promise.all([
    startToolServer(service.url, { HEDDLE_TIMEOUT_MS: '60000', HEDDLE_INFERENCE_TIMEOUT_MS: '60000' }),
    startToolServer(service.url, { HEDDLE_TIMEOUT_MS: '10000', HEDDLE_INFERENCE_TIMEOUT_MS: '10000' }),
  ]);
  // First the calls that end by themselves: they load the code, so that the others reach the service long before their deadline.
  const ended = await run(server, casesOf([...statusFaults, ...otherFaults]));
  // All at once: they are fewer than the client has connections.
  const endless = casesOf(endlessFaults);
  const met = [...ended, ...(await run(impatientServer, endless, endless.length))];
  for (const entry of met) outcomes.set(`${entry.fault.name} ${entry.tool}`, entry);
  tally('faults', outcomes.size);
}, 240_000);

afterAll(() => Promise.all([server.client.close(), impatientServer.client.close()]));

describe.each(faults)('a response with $name', (fault) => {
  it.each(toolsThatMeet(fault))('gives the expected error code and number of requests for %s', (tool) => {
    const met = outcomeOf(fault.name, tool);
    const { actual, wanted } = compareOutcome(met);
    if (unrepeatable.has(tool) && actual.sent > wanted.sent) tally('doubled', 1);
    expect(actual, JSON.stringify(met.outcome)).toEqual(wanted);
  });
});

describe('after all faults', () => {
  it('every fault that is tried with all tools is in the table', () => {
    expect([...toldApart].filter((name) => !faults.some((fault) => fault.name === name))).toEqual([]);
  });

  it('a Retry-After beyond the deadline is reported in milliseconds', () => {
    for (const tool of tools) {
      expect(outcomeOf('429, Retry-After beyond the deadline', tool).outcome.retry_after_ms).toBe(120_000);
      const { retry_after_ms } = outcomeOf('429, Retry-After as a date beyond the deadline', tool).outcome;
      expect(retry_after_ms).toBeGreaterThan(3_000_000);
    }
  });

  it('the hint says that the service may have carried out a request that must not be repeated', () => {
    for (const name of ['reset after the request was read', 'no response at all', '502 with html']) {
      for (const tool of tools) {
        const { hint } = outcomeOf(name, tool).outcome;
        if (unrepeatable.has(tool)) expect(hint).toContain('may have carried it out');
        else expect(hint).not.toContain('may have carried it out');
      }
    }
  });

  it('no error contains a credential, and no hint contains text of the service', () => {
    const errors = [...outcomes.values()].map(({ outcome }) => outcome);
    expect(JSON.stringify(errors)).not.toMatch(/password-of-user|token-of-user/);
    for (const { hint } of errors) expect(hint ?? '').not.toContain('some text');
  });

  it('every tool works again', async () => {
    service.respond = (request) => sendGoodResponse(request);
    for (const { call, log } of [server, impatientServer]) {
      for (const tool of tools) {
        const { code } = await call(tool, exampleFor(tool));
        if (code !== 'ok') tally('crashed', 1);
        expect([tool, code]).toEqual([tool, 'ok']);
      }
      expect(log()).not.toContain('"level":"error"');
    }
  });
});
