import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { ServiceClient } from '../../src/client/service-client.ts';
import { Redactor } from '../../src/core/secrets/redaction.ts';
import { type CallOptions, errorText, runTool } from '../../src/mcp/run-tool.ts';
import { tools } from '../../src/tools/definition/registry.ts';
import { toolNames } from '../pins/tools.ts';
import { exampleFor } from '../support/call-every-tool.ts';
import { caseCount } from '../support/cases.ts';
import { parseErrorText } from '../support/error-text.ts';
import { startFakeService } from '../support/fake-service.ts';
import { tally } from '../support/tally.ts';

const service = await startFakeService();
const client = new ServiceClient({
  connect: async () => ({ baseUrl: service.url, basic: { username: 'u', password: 'p' }, bearer: 't' }),
  userAgent: 'test',
});
afterAll(async () => {
  await client.close();
  await service.stop();
});

const unexpected: unknown[] = [];
const settings: CallOptions = {
  service: async () => client,
  project: 'a/b',
  text: 'compact',
  maxResultChars: 50_000,
  terminal: { program: 'heddle', flags: new Map() },
  log: (level, _, ...fields) => {
    if (level === 'error') unexpected.push(...fields);
  },
  redactor: new Redactor(),
  tools,
};

/** Calls a tool and checks what holds for any arguments: a bounded result and no internal failure. */
async function answered(name: string, args: unknown): Promise<{ isError: boolean; text: string }> {
  const tool = tools.find((candidate) => candidate.name === name)!;
  const { signal } = new AbortController();
  const outcome = await runTool(tool, args, { signal }, settings);
  expect(unexpected).toEqual([]);
  const isError = 'error' in outcome;
  const text = isError ? errorText(outcome.error) : outcome.text;
  expect(JSON.stringify(isError ? text : outcome).length).toBeLessThan(60_000);
  expect(text.isWellFormed()).toBe(true);
  if (isError) expect(parseErrorText(text)).toMatchObject({ code: expect.any(String), hint: expect.any(String) });
  return { isError, text };
}

const nasty = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '\0', '\ud800', '\udfff\ud800', '../..', '%2e%2e%2f', '\u202e', '\u001b[2J', 'a'.repeat(100_000)),
  fc.constantFrom(
    -0,
    1e308,
    -1e308,
    Number.MAX_SAFE_INTEGER + 1,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    0.1,
    null,
    true,
  ),
  fc.constantFrom(
    JSON.parse('{"__proto__":{"polluted":1}}'),
    { constructor: 1, toString: 2, hasOwnProperty: 3 },
    [[]],
    [null],
  ),
);

// At hand a tenth of their sizes: a call takes time for each unknown member, each character of a name and each list entry.
const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
const many = Object.fromEntries(Array.from({ length: caseCount(50_000) }, (_, index) => [`unknown${index}`, index]));
const longName = 'x'.repeat(caseCount(1_000_000));
const longList = Array.from({ length: caseCount(20_000) }, () => ({ a: 1 }));

describe.each(toolNames)('%s', (name) => {
  const names = Object.keys(tools.find((tool) => tool.name === name)!.inputJsonSchema.properties!);

  it('returns a bounded result for arbitrary JSON in place of its arguments', async () => {
    const runs = caseCount(100);
    await fc.assert(
      fc.asyncProperty(nasty, async (args) => void (await answered(name, args))),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it('returns a bounded result when some of its arguments are arbitrary', async () => {
    const runs = caseCount(150);
    const place = fc.oneof(fc.constantFrom(...names), fc.constantFrom('__proto__', 'constructor', 'toString', 'x'));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(place, nasty, { maxKeys: 4 }), async (changes) => {
        // As a client sends it: through JSON.
        await answered(name, JSON.parse(JSON.stringify({ ...exampleFor(name), ...changes })));
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it('returns a bounded error for arguments that are too deep, too many or too long', async () => {
    for (const place of names) {
      expect((await answered(name, { ...exampleFor(name), [place]: deep })).isError).toBe(true);
    }
    expect(await answered(name, many)).toMatchObject({ isError: true, text: expect.stringContaining('more') });
    expect(await answered(name, { [longName]: 1 })).toMatchObject({ isError: true });
    const lists = Object.fromEntries(names.map((place) => [place, longList]));
    expect(await answered(name, lists)).toMatchObject({ isError: true });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('free-form arguments', () => {
  it('keep names that objects inherit, except __proto__', async () => {
    const args = JSON.parse('{"model":"m","template_vars":{"__proto__":"a","constructor":"b","toString":"c"}}');
    await answered('run_inference', args);
    expect(service.requests.at(-1)!.body).toContain('"template_vars":{"constructor":"b","toString":"c"}');
  });
});
