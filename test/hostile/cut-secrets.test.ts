import { afterAll, describe, expect, it } from 'vitest';
import { ServiceClient } from '../../src/client/service-client.ts';
import { Redactor } from '../../src/core/secrets/redaction.ts';
import { readResource } from '../../src/mcp/resources.ts';
import { type CallOptions, runTool } from '../../src/mcp/run-tool.ts';
import { tools } from '../../src/tools/definition/registry.ts';
import { toolNames } from '../pins/tools.ts';
import { exampleFor } from '../support/call-every-tool.ts';
import { range, someCases } from '../support/cases.ts';
import { type RecordedRequest, sendResponse, startFakeService } from '../support/fake-service.ts';
import { goodResponse } from '../support/good-responses.ts';
import { tally } from '../support/tally.ts';

const secret = 'Zq7w"KxV/3pTn9\\RbYc5-Lm2HdGs8FjUe';
const redactor = new Redactor();
redactor.protect(secret);
const service = await startFakeService();
const client = new ServiceClient({
  connect: async () => ({ baseUrl: service.url, basic: { username: 'u', password: secret }, bearer: 't' }),
  userAgent: 'test',
  redact: (text) => redactor.redact(text),
  redactCut: (text) => redactor.redactCut(text),
  redactValue: (value, pause) => redactor.redactValueInSteps(value, pause),
  searchSecrets: () => redactor.search(),
});
afterAll(async () => {
  await client.close();
  await service.stop();
});

/** Calls a tool and returns everything that leaves heddle: the result, and what is logged. */
async function output(name: string, args: unknown, options: Partial<CallOptions> = {}): Promise<string> {
  const logged: unknown[] = [];
  const settings: CallOptions = {
    service: async () => client,
    project: 'a/b',
    text: 'compact',
    maxResultChars: 50_000,
    terminal: { program: 'heddle', flags: new Map() },
    log: (...event) => logged.push(event),
    redactor,
    tools,
    ...options,
  };
  const tool = tools.find((candidate) => candidate.name === name)!;
  const { signal } = new AbortController();
  const result = await runTool(tool, args, { signal, ask: () => 'yes' }, settings);
  return JSON.stringify(result) + redactor.redact(JSON.stringify(logged));
}

/** Fails if any eight characters of the secret are in a text, in whatever form of JSON. */
function expectNothingOf(text: string, place: string): void {
  const bare = text.replaceAll('\\', '');
  const bareSecret = secret.replaceAll('\\', '');
  for (let at = 0; at + 8 <= bareSecret.length; at += 1) {
    const found = bare.indexOf(bareSecret.slice(at, at + 8));
    expect(found < 0 ? '' : `${place}: ${bare.slice(Math.max(0, found - 60), found + 60)}`).toBe('');
  }
}

/** Replaces each string of the good response that is free text by the filling and the secret. */
function echo(request: RecordedRequest, filling: string): void {
  const { contentType, body } = goodResponse(request);
  const text = body.replaceAll(/"(Why\?|Because\.|Hello|Q|op|me)"/g, () => JSON.stringify(filling + secret + filling));
  sendResponse(request, 200, text, { 'content-type': contentType });
}

describe('a secret in an argument', () => {
  it('is removed from messages that cut the argument, wherever the cut falls', async () => {
    service.respond = (request) => echo(request, '');
    const lengths = someCases(range(60, 100));
    for (const before of lengths) {
      const text = await output('query_queue_items', {
        queue_id: 'q',
        fields: [`${'y'.repeat(before)}${secret} and more`],
      });
      expect(text).toContain('No field');
      expectNothingOf(text, `behind ${before} characters`);
    }
    tally('faults', lengths.length);
  });
});

describe('a secret that a service repeats', () => {
  it('is removed before a value is cut, wherever the cut falls', async () => {
    let cuts = 0;
    for (const chars of someCases(range(20, 60))) {
      service.respond = (request) => echo(request, 'y'.repeat(20));
      const paths = ['inputs.question', 'output'];
      const shown = [
        await output('read_call', { call_id: 'c1', paths, max_value_chars: chars }),
        await output('query_queue_items', { queue_id: 'q', include_call: true, max_value_chars: chars }),
      ];
      for (const text of shown) expectNothingOf(text, `cut at ${chars}`);
      expect(shown[0]).toContain('yyyy');
      cuts += shown.length;
    }
    for (const filling of someCases(range(160, 520, 10))) {
      service.respond = (request) => echo(request, 'y'.repeat(filling));
      expectNothingOf(await output('query_calls', {}), `query_calls behind ${filling} characters`);
      cuts += 1;
    }
    tally('property runs', cuts);
  });

  it.each(toolNames)('is removed before a result of %s that is too large is cut', async (name) => {
    for (const filling of someCases(range(1_500, 1_556, 4))) {
      service.respond = (request) => echo(request, 'y'.repeat(filling));
      for (const text of ['compact', 'json'] as const) {
        const shown = await output(name, exampleFor(name), { maxResultChars: 4_000, text });
        expectNothingOf(shown, `${name} behind ${filling} characters`);
      }
    }
  });

  it('is removed from errors and from the partial text of a stream, wherever they end', async () => {
    for (const filling of someCases(range(440, 518, 2))) {
      const text = 'y'.repeat(filling) + secret;
      service.respond = (request) => sendResponse(request, 400, JSON.stringify({ detail: text }));
      expectNothingOf(await output('read_call', { call_id: 'c1' }), `error behind ${filling} characters`);
      service.respond = (request) => sendResponse(request, 200, text, { 'content-type': 'text/html' });
      expectNothingOf(await output('list_queues', {}), `page behind ${filling} characters`);
    }
    for (const shown of someCases(range(8, secret.length))) {
      const chunk = { choices: [{ index: 0, delta: { content: `so far ${secret.slice(0, shown)}` } }] };
      service.respond = (request) =>
        sendResponse(request, 200, `data: ${JSON.stringify(chunk)}\n\n`, { 'content-type': 'text/event-stream' });
      const failed = await output('run_inference', { model: 'm', stream: true });
      expect(failed).toContain('so far [secret]');
      expectNothingOf(failed, `stream that ends after ${shown} characters`);
    }
  });

  it('is removed from resources', async () => {
    service.respond = (request) => echo(request, 'y');
    for (const address of ['heddle://a/b/queues/q', 'heddle://a/b/calls/c1']) {
      const shown = JSON.stringify(await readResource(address, client, () => ''));
      expect(shown).toContain('[secret]');
      expectNothingOf(shown, address);
    }
  });

  it('is removed from the names of arguments before they are cut', async () => {
    for (const filling of someCases(range(70, 99))) {
      const shown = await output('read_call', { call_id: 'c1', ['y'.repeat(filling) + secret]: 1 });
      expectNothingOf(shown, `name behind ${filling} characters`);
    }
  });
});
