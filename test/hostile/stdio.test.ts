import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendGoodResponse, sendResponse, startFakeService } from '../support/fake-service.ts';
import { temporaryFolder } from '../support/heddle.ts';
import { LineClient } from '../support/line-client.ts';
import { tally } from '../support/tally.ts';

const service = await startFakeService();
const home = temporaryFolder();
const settings = {
  HEDDLE_BASE_URL: service.url,
  HEDDLE_PROJECT: 'a/b',
  HEDDLE_USERNAME: 'u',
  HEDDLE_PASSWORD: 'password-of-user',
  HEDDLE_TOKEN: 'token-of-user',
};
const server = new LineClient(home, settings);
beforeAll(() => server.initialize());
afterAll(async () => {
  if (server.child.exitCode !== null) tally('crashed', 1);
  expect(server.noise).toEqual([]);
  expect(server.stderr).not.toMatch(/"level":"error"|password-of-user/);
  expect(await server.end()).toBe(0);
  await service.stop();
});

let lastId = 0;
/** Checks that the server still answers. */
async function isWell(): Promise<void> {
  lastId += 1;
  expect((await server.ask({ id: lastId, method: 'tools/list' })).result).toHaveProperty('tools');
}

describe('stdio server under hostile input', () => {
  it('survives arbitrary bytes', async () => {
    const runs = 150;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), async (lines) => {
        for (const line of lines) server.write(Buffer.concat([line, Buffer.from('\n')]));
        await isWell();
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  const methods = [
    'tools/call',
    'tools/list',
    'ping',
    'prompts/get',
    'resources/read',
    'completion/complete',
    'logging/setLevel',
  ];
  const anyMethod = fc.oneof(
    fc.constantFrom(...methods, 'initialize', 'server/discover', 'subscriptions/listen', 'tasks/get', 'constructor'),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.jsonValue(),
  );
  const names = [
    'name',
    'arguments',
    'uri',
    'ref',
    'argument',
    '_meta',
    'cursor',
    'inputResponses',
    'requestState',
    '__proto__',
  ];
  const anyParams = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(fc.jsonValue(), fc.constantFrom('read_call', 'heddle://a/b/queues/q')),
    ),
  );

  it('answers every message that has an id under that id', async () => {
    const runs = 250;
    await fc.assert(
      fc.asyncProperty(
        anyMethod,
        anyParams,
        fc.constantFrom('2.0', '1.0', 2, null),
        async (method, params, jsonrpc) => {
          lastId += 1;
          const message = await server.ask({ jsonrpc, id: lastId, method, params });
          expect('result' in message !== 'error' in message).toBe(true);
        },
      ),
      { numRuns: runs },
    );
    tally('property runs', runs);
    await isWell();
  });

  it.each([
    ['no method', { id: 'a' }, -32_600],
    ['a wrong version', { jsonrpc: '1.0', id: 'b', method: 'ping' }, -32_600],
    ['a method that is no text', { id: 'c', method: 7 }, -32_600],
    ['parameters that are no object', { id: 'd', method: 'ping', params: 'x' }, -32_600],
    ['an unknown method', { id: 'e', method: 'no/such' }, -32_601],
    ['a fraction as id', { id: 1.5, method: 'ping' }, -32_600],
  ])('reports %s under the id', async (_, message, code) => {
    expect((await server.ask(message)).error?.code).toBe(code);
  });

  it('ignores messages whose id cannot be answered and values that are no object', async () => {
    const lines = [
      '{"jsonrpc":"2.0","id":null,"method":"ping"}',
      '{"jsonrpc":"2.0","id":{},"method":"ping"}',
      '5',
      '"x"',
      'null',
      '[]',
    ];
    for (const line of lines) server.write(`${line}\n`);
    await isWell();
  });

  it('answers an id again once its response has arrived, and as often as a client likes', async () => {
    for (let time = 0; time < 1_100; time += 1) {
      expect((await server.ask({ id: 'again', method: 'ping' })).result).toEqual({});
    }
  });

  it('answers each message of a batch', async () => {
    server.write(
      '[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","method":"x"},{"id":"b2"},{"jsonrpc":"2.0","id":"b3","method":"ping"}]\n',
    );
    expect(await server.answerTo('b1')).toHaveProperty('result');
    expect(await server.answerTo('b2')).toMatchObject({ error: { code: -32_600 } });
    expect(await server.answerTo('b3')).toHaveProperty('result');
  });

  it('refuses an id that is in use and makes its call once', async () => {
    service.requests.length = 0;
    let finish = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      service.respond = (request) => {
        finish = () => sendGoodResponse(request);
        resolve();
      };
    });
    const call = {
      id: 'twice',
      method: 'tools/call',
      params: { name: 'run_inference', arguments: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] } },
    };
    server.write(`${JSON.stringify({ jsonrpc: '2.0', ...call })}\n`);
    await arrived;
    expect((await server.ask(call)).error).toMatchObject({ code: -32_600 });
    finish();
    expect(await server.answerTo('twice')).toHaveProperty('result');
    expect(service.requests).toHaveLength(1);
    if (service.requests.length > 1) tally('doubled', 1);
  });

  it('answers calls whose arguments hold deep nesting, surrogates, NUL or huge numbers', async () => {
    service.respond = (request) => sendGoodResponse(request);
    const tooDeep = 'Message refused: nested deeper than 500 levels';
    const texts = [
      `{"call_id":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
      '{"call_id":"\\ud800"}',
      '{"call_id":"a\\u0000b"}',
      '{"call_id":"c","max_value_chars":1e300}',
      '{"call_id":"c","max_value_chars":-0}',
      '{"call_id":"c","call_id":"d"}',
      '{"__proto__":{"call_id":"c"},"call_id":"c"}',
    ];
    for (const [index, args] of texts.entries()) {
      server.write(
        `{"jsonrpc":"2.0","id":"n${index}","method":"tools/call","params":{"name":"read_call","arguments":${args}}}\n`,
      );
      const { result, error } = await server.answerTo(`n${index}`);
      if (index < 2) expect(error).toEqual({ code: -32_600, message: tooDeep });
      else expect(result).toHaveProperty('content');
    }
    // The same outside of the arguments.
    server.write(`{"jsonrpc":"2.0","id":"deep","method":"ping","params":${texts[1]}}\n`);
    expect((await server.answerTo('deep')).error?.message).toBe(tooDeep);
    server.write(`{"jsonrpc":"2.0","id":"deeper","method":"tools/list","params":{"_meta":${texts[1]}}}\n`);
    expect((await server.answerTo('deeper')).error?.message).toBe(tooDeep);
    // Deep ids have no answer.
    const deep = `${'['.repeat(3_000_000)}${']'.repeat(3_000_000)}`;
    server.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${deep}}}\n`);
    server.write(`{"jsonrpc":"2.0","id":${deep},"method":"ping"}\n`);
    await isWell();
  });

  it('refuses a batch of millions of values with one log line', async () => {
    const logged = server.stderr.length;
    server.write(`[${'1,'.repeat(4_000_000)}{"jsonrpc":"2.0","id":"last","method":"ping"}]\n`);
    expect((await server.answerTo('last')).error).toEqual({
      code: -32_600,
      message: 'Message refused: a batch of more than 1024 messages',
    });
    await isWell();
    expect(server.stderr.slice(logged).trimEnd().split('\n')).toHaveLength(1);
    expect(server.stderr.slice(logged)).toContain('"message":"batch refused","messages":4000001');
  });

  it('counts the log lines beyond the limit of a second', async () => {
    const logged = server.stderr.length;
    server.write('5\n'.repeat(100_000));
    await isWell();
    const linesOf = (text: string): { message: string; count: number }[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    const isDropped = ({ message }: { message: string }) => message === 'log lines dropped';
    // A slow machine reads them in several seconds, each with a count of its own.
    const total = (): number => {
      const lines = linesOf(server.stderr.slice(logged));
      return lines.reduce((sum, line) => sum + (isDropped(line) ? line.count : 1), 0);
    };
    await expect.poll(total).toBe(100_000);
    const dropped = linesOf(server.stderr.slice(logged)).filter(isDropped);
    expect(dropped[0]).toMatchObject({ level: 'warn', limit_per_second: 2_000 });
  });

  it('cuts a long id in the log, not in the answer', async () => {
    const id = `long-${'i'.repeat(1_000_000)}`;
    const logged = server.stderr.length;
    expect((await server.ask({ jsonrpc: '1.0', id, method: 'ping' })).error).toMatchObject({ code: -32_600 });
    expect(server.stderr.length - logged).toBeLessThan(20_000);
  });

  it('refuses a line of 200 MB under its id in bounded memory', async () => {
    const before = server.memory();
    const block = Buffer.alloc(1024 * 1024, 'x');
    server.write('{"jsonrpc":"2.0","id":"huge","method":"tools/call","params":{"name":"');
    for (let sent = 0; sent < 200; sent += 1) {
      if (!server.child.stdin!.write(block)) await new Promise((resolve) => server.child.stdin!.once('drain', resolve));
    }
    server.write('"}}\n');
    expect((await server.answerTo('huge')).error).toMatchObject({
      code: -32_600,
      message: expect.stringContaining('more than the maximum of 10485760'),
    });
    server.write(
      `{"method":"tools/call","params":{"name":"${'x'.repeat(11 * 1024 * 1024)}"},"jsonrpc":"2.0","id":4711}\n`,
    );
    expect((await server.answerTo(4711)).error).toMatchObject({ code: -32_600 });
    await isWell();
    const { peak } = server.memory();
    console.log(`memory: ${before.peak} MB before, ${peak} MB at the peak of a line of 200 MB`);
    expect(peak - before.peak).toBeLessThan(120);
    expect(server.stderr).toMatch(
      /"message":"message refused","id":"huge","reason":"it has 2097\d+ bytes, more than the maximum of 10485760"/,
    );
  });

  it('refuses requests beyond the limit and answers the others', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    service.respond = async (request) => {
      await released;
      sendResponse(request, 200, '{"call":null}');
    };
    const ids = Array.from({ length: 1_100 }, (_, index) => `many${index}`);
    for (const id of ids) {
      server.write(
        `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"read_call","arguments":{"call_id":"c"}}}\n`,
      );
    }
    expect((await server.answerTo('many1099')).error).toMatchObject({ code: -32_000 });
    release();
    const answers = await Promise.all(ids.slice(0, -1).map((id) => server.answerTo(id)));
    expect(answers.filter(({ result }) => result)).toHaveLength(1_024);
  });
});
