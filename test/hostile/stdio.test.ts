import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startAttackedServer } from '../support/attacked-server.ts';
import { caseCount } from '../support/cases.ts';
import { sendGoodResponse } from '../support/fake-service.ts';
import { tally } from '../support/tally.ts';

const { service, server, isWell } = await startAttackedServer();

describe('stdio server under hostile input', () => {
  it('survives arbitrary bytes', async () => {
    const runs = caseCount(150);
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

  it('answers every message that has an id with a response for that id', async () => {
    const runs = caseCount(250);
    let lastId = 0;
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
    ['a method that is not a string', { id: 'c', method: 7 }, -32_600],
    ['parameters that are not an object', { id: 'd', method: 'ping', params: 'x' }, -32_600],
    ['an unknown method', { id: 'e', method: 'no/such' }, -32_601],
    ['a fraction as id', { id: 1.5, method: 'ping' }, -32_600],
  ])('answers %s with an error for the same id', async (_, message, code) => {
    expect((await server.ask(message)).error?.code).toBe(code);
  });

  it('ignores messages with an invalid id and values that are not objects', async () => {
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

  it('passes over lines of white space without a word', async () => {
    const logged = server.stderr.length;
    server.write('\n  \n\t\r\n');
    await isWell();
    expect(server.stderr.slice(logged)).toBe('');
  });

  it('accepts an id again after its response, however often', async () => {
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
        // The list of models is read once, before the call.
        if (request.path.endsWith('/models')) return sendGoodResponse(request);
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
    const asked = service.requests.filter(({ path }) => !path.endsWith('/models'));
    expect(asked).toHaveLength(1);
    if (asked.length > 1) tally('doubled', 1);
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

  it('cuts a long id in the log, not in the answer', async () => {
    const id = `long-${'i'.repeat(1_000_000)}`;
    const logged = server.stderr.length;
    expect((await server.ask({ jsonrpc: '1.0', id, method: 'ping' })).error).toMatchObject({ code: -32_600 });
    expect(server.stderr.length - logged).toBeLessThan(20_000);
  });

  it('refuses a line of more than 10 MiB with a response for its id, even if the id comes last', async () => {
    server.write(
      `{"method":"tools/call","params":{"name":"${'x'.repeat(11 * 1024 * 1024)}"},"jsonrpc":"2.0","id":4711}\n`,
    );
    expect((await server.answerTo(4711)).error).toMatchObject({
      code: -32_600,
      message: expect.stringContaining('more than the maximum of 10485760'),
    });
  });

  it('refuses a batch of more than 1024 messages with one log line', async () => {
    const logged = server.stderr.length;
    server.write(`[${'1,'.repeat(1_024)}{"jsonrpc":"2.0","id":"last","method":"ping"}]\n`);
    expect((await server.answerTo('last')).error).toEqual({
      code: -32_600,
      message: 'Message refused: a batch of more than 1024 messages',
    });
    await isWell();
    expect(server.stderr.slice(logged).trimEnd().split('\n')).toHaveLength(1);
    expect(server.stderr.slice(logged)).toContain('"message":"batch refused","messages":1025');
  });
});
