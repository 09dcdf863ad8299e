import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RequestInfo } from '../../../src/client/failures.ts';
import { readStreamedReply } from '../../../src/client/stream/streamed-reply.ts';
import { caseCount } from '../../support/cases.ts';
import { tally } from '../../support/tally.ts';

const info: RequestInfo = {
  requestLine: 'POST /inference/v1/chat/completions',
  endpointName: 'runInference',
  auth: 'bearer',
  repeatable: false,
  redact: (text) => text,
  redactCut: (text) => text,
};

function read(pieces: Uint8Array[]): Promise<Record<string, unknown>> {
  const body = Readable.from(pieces, { objectMode: true });
  return readStreamedReply({ status: 200, headers: {}, body }, info, { idleTimeoutMs: 5_000 });
}

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const toolCall = fc.record({
  id: fc.stringMatching(/^call_[a-z0-9]{6}$/),
  name: fc.stringMatching(/^[a-z_]{1,12}$/),
  args: text,
});

/** The content of a reply. */
const reply = fc.record({
  id: fc.stringMatching(/^[a-z0-9-]{1,20}$/),
  model: fc.string({ minLength: 1, maxLength: 20 }),
  choices: fc.array(
    fc.record({
      content: fc.option(text),
      reasoning: fc.option(text, { nil: undefined }),
      calls: fc.option(fc.uniqueArray(toolCall, { minLength: 1, maxLength: 3, selector: ({ id }) => id }), {
        nil: undefined,
      }),
      logprobs: fc.option(fc.array(fc.record({ token: text, logprob: fc.double({ noNaN: true }) }), { maxLength: 4 })),
      finish: fc.constantFrom('stop', 'length', 'tool_calls'),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  usage: fc.option(fc.record({ prompt_tokens: fc.nat(), completion_tokens: fc.nat() }), { nil: undefined }),
});
type Reply = typeof reply extends fc.Arbitrary<infer Value> ? Value : never;

/** The ways in which services stream a reply. */
const style = fc.record({
  size: fc.integer({ min: 1, max: 7 }),
  indexed: fc.boolean(),
  repeatsNames: fc.boolean(),
  emptyIds: fc.boolean(),
  done: fc.boolean(),
  newline: fc.constantFrom('\n', '\r\n', '\r'),
  comments: fc.boolean(),
  manyLines: fc.boolean(),
  bom: fc.boolean(),
  cuts: fc.array(fc.nat(), { maxLength: 20 }),
});
type Style = typeof style extends fc.Arbitrary<infer Value> ? Value : never;

function inOnePiece({ id, model, choices, usage }: Reply): unknown {
  const whole = {
    id,
    object: 'chat.completion',
    created: 7,
    model,
    choices: choices.map(({ content, reasoning, calls, logprobs, finish }, index) => ({
      index,
      message: {
        role: 'assistant',
        content,
        ...(reasoning !== undefined && { reasoning_content: reasoning }),
        ...(calls && {
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
          })),
        }),
      },
      logprobs: logprobs && { content: logprobs },
      finish_reason: finish,
    })),
    ...(usage && { usage }),
  };
  // JSON has no -0.
  return JSON.parse(JSON.stringify(whole));
}

const cutText = (whole: string, size: number): string[] => {
  const units = [...Array(Math.ceil(whole.length / size)).keys()].map((at) => whole.slice(at * size, (at + 1) * size));
  return units.length > 0 ? units : [''];
};

/** Returns the chunks of a reply, with its choices interleaved. */
function chunksOf({ id, model, choices, usage }: Reply, { size, indexed, repeatsNames, emptyIds }: Style): object[] {
  const head = { id, object: 'chat.completion.chunk', created: 7, model };
  const lanes = choices.map(({ content, reasoning, calls, logprobs, finish }, index) => {
    const part = (delta: object, rest: object = {}) => ({
      ...head,
      choices: [{ index, delta, logprobs: null, finish_reason: null, ...rest }],
    });
    return [
      part({ role: 'assistant', content: content === null ? null : '' }),
      ...(reasoning === undefined ? [] : cutText(reasoning, size).map((piece) => part({ reasoning_content: piece }))),
      ...(content === null ? [] : cutText(content, size).map((piece) => part({ content: piece }))),
      ...(calls ?? []).flatMap(({ id, name, args }, place) =>
        cutText(args, size).map((piece, at) => {
          const first = at === 0;
          return part({
            tool_calls: [
              {
                ...(indexed && { index: place }),
                ...(first || repeatsNames ? { id, type: 'function' } : emptyIds && { id: '' }),
                function: { ...(first || repeatsNames ? { name } : emptyIds && { name: '' }), arguments: piece },
              },
            ],
          });
        }),
      ),
      ...(logprobs ?? []).map((entry) => part({}, { logprobs: { content: [entry] } })),
      ...(logprobs?.length === 0 ? [part({}, { logprobs: { content: [] } })] : []),
      part({}, { finish_reason: finish }),
    ];
  });
  const chunks: object[] = [];
  for (let turn = 0; lanes.some((lane) => lane.length > turn); turn += 1) {
    for (const lane of lanes) if (lane[turn]) chunks.push(lane[turn]!);
  }
  return usage ? [...chunks, { ...head, choices: [], usage }] : chunks;
}

function bytesOf(chunks: object[], { newline, comments, manyLines, done, bom, cuts }: Style): Uint8Array[] {
  const events = chunks.map((chunk) => {
    // A line end between members becomes another data line of the event.
    const json = JSON.stringify(chunk, null, manyLines ? 1 : undefined);
    return [
      ...(comments ? [': keep-alive', 'id: 3'] : []),
      ...json.split('\n').map((line) => `data: ${line}`),
      '',
      '',
    ].join(newline);
  });
  const whole = Buffer.from(
    `${bom ? '\ufeff' : ''}${events.join('')}${done ? `data: [DONE]${newline}${newline}` : ''}`,
  );
  const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)), whole.length].sort((a, b) => a - b);
  return places.slice(1).map((place, index) => whole.subarray(places[index], place));
}

describe('readStreamedReply', () => {
  it.each(['data:[DONE]', 'data: [DONE]', 'data:  [DONE] ', 'data: [DONE]\t'])('ends at %j', async (end) => {
    const events = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n${end}\n\n`;
    expect(await read([new TextEncoder().encode(events)])).toEqual({
      choices: [{ index: 0, message: { content: 'a' } }],
    });
  });

  it('treats comments as activity, and does not count the wait for the first byte', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const body = new PassThrough();
    const reply = readStreamedReply({ status: 200, headers: {}, body }, info, { idleTimeoutMs: 5_000 });
    for (const waitMs of [60_000, 4_999, 4_999, 4_999]) {
      vi.advanceTimersByTime(waitMs);
      body.write(': still thinking\n\n');
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    }
    body.end('data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n');
    expect(await reply).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
  });

  it('pauses between the steps of a large event, and ends with the text so far when the pause throws', async () => {
    let nowMs = 0;
    // Each look at the clock takes so long that it is time for a pause.
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      nowMs += 20;
      return nowMs;
    });
    onTestFinished(() => clock.mockRestore());
    const tool_calls = Array.from({ length: 10_000 }, (_, index) => ({ index }));
    const event = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
    const body = Readable.from([
      Buffer.from(event({ content: 'Hello' }) + event({ tool_calls }) + event({ content: '!' })),
    ]);
    let pauses = 0;
    const pause = async () => {
      pauses += 1;
      if (pauses === 11) throw new Error('the time is over');
    };
    const reading = readStreamedReply({ status: 200, headers: {}, body }, info, { idleTimeoutMs: 5_000, pause });
    await expect(reading).rejects.toMatchObject({
      message: 'The streamed reply to POST /inference/v1/chat/completions broke: the time is over.',
      partialText: 'Hello',
    });
    expect([pauses, body.destroyed]).toEqual([11, true]);
  });

  it('assembles the same reply as without streaming, however it is streamed and split', async () => {
    const runs = caseCount(400);
    await fc.assert(
      fc.asyncProperty(reply, style, async (wanted, how) => {
        expect(await read(bytesOf(chunksOf(wanted, how), how))).toEqual(inOnePiece(wanted));
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it('reports a stream that ends early, with the text so far', async () => {
    const runs = caseCount(200);
    await fc.assert(
      fc.asyncProperty(reply, style, fc.double({ min: 0, max: 0.999, noNaN: true }), async (wanted, how, share) => {
        const one = { ...wanted, choices: wanted.choices.slice(0, 1), usage: undefined };
        const whole = Buffer.concat(bytesOf(chunksOf(one, how), { ...how, done: false }));
        const lastEvent = whole.lastIndexOf('"finish_reason"');
        const cut = whole.subarray(0, Math.floor(lastEvent * share));
        const failure = await read([cut]).catch((error: unknown) => error);
        expect(failure).toMatchObject({ code: 'network', retryable: true });
        expect(one.choices[0]!.content ?? '').toContain((failure as { partialText: string }).partialText);
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });

  it('returns a reply or throws a HeddleError for arbitrary input', async () => {
    const runs = caseCount(300);
    // The unit `binary` of fast-check takes a second to prepare.
    const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const line = fc.oneof(
      fc.string({ unit: codeUnit, maxLength: 60 }),
      fc.json().map((json) => `data: ${json}`),
      fc.constantFrom(
        '',
        'data: [DONE]',
        'data:',
        'event: error',
        ':',
        'retry: x',
        'data: {"choices":[{"delta":{"content":"a"}}]}',
      ),
      fc.constantFrom(
        'data: {"choices":[{"index":1e400,"delta":{"tool_calls":[null,{},{"index":-1}]}}]}',
        'data: {"choices":{}}',
      ),
      fc.constantFrom(
        'data: {"__proto__":{"a":1},"choices":[{"delta":{"__proto__":{"content":"x"},"constructor":"y"}}]}',
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (lines) => {
        const outcome = await read([Buffer.from(lines.join('\n'))]).catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome).toHaveProperty('name', 'HeddleError');
        else expect(outcome).toHaveProperty('choices');
        expect(({} as Record<string, unknown>).a).toBeUndefined();
      }),
      { numRuns: runs },
    );
    tally('property runs', runs);
  });
});
