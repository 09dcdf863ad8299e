import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEvents } from '../../../src/client/stream/event-stream.ts';
import { caseCount } from '../../support/cases.ts';

async function read(pieces: Uint8Array[]): Promise<string[]> {
  const events: string[] = [];
  for await (const { data } of readEvents(Readable.from(pieces))) events.push(data);
  return events;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('readEvents', () => {
  it('joins several data lines, skips comments and other fields, and accepts both line endings', async () => {
    const text =
      ': keep-alive\r\n\r\nevent: message\r\nid: 7\r\ndata: one\r\ndata: two\r\n\r\ndata:three\n\n: x\ndata: {"a":1}\n\n';
    expect(await read([bytes(text)])).toEqual(['one\ntwo', 'three', '{"a":1}']);
  });

  it.each(['', '\n', '\r', '\r\n', '\r\n\r', '\r\r', '\n\n'])('yields a last event that ends in %j', async (end) => {
    expect(await read([bytes(`data: one\n\ndata: [DONE]${end}`)])).toEqual(['one', '[DONE]']);
    expect(await read([bytes('data: one\n\ndata: [DONE]'), bytes(end)])).toEqual(['one', '[DONE]']);
  });

  it('yields a last character that was cut off as a replacement character', async () => {
    expect(await read([bytes('data: one €').subarray(0, -1)])).toEqual(['one \ufffd']);
  });

  it('throws for an endless event before it fills the memory', async () => {
    const piece = bytes('x'.repeat(1024 * 1024));
    await expect(read([bytes('data: '), ...Array(6).fill(piece)])).rejects.toThrow(RangeError);
  });

  it('throws for an endless stream of comments', async () => {
    const comment = bytes(`: ${'x'.repeat(1024 * 1024)}\n`);
    await expect(read(Array(33).fill(comment))).rejects.toThrow(new RangeError('is larger than 33554432 bytes'));
  });

  it('yields the same events however the bytes are split', async () => {
    const data = fc.stringMatching(/^[ -~äöü€😀]{1,30}$/u).filter((text) => text.trim() !== '');
    await fc.assert(
      fc.asyncProperty(
        fc.array(data, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat({ max: 400 }), { maxLength: 12 }),
        async (texts, newline, cuts) => {
          const whole = bytes(texts.map((text) => `data: ${text}${newline}${newline}`).join(''));
          const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)), whole.length].sort((a, b) => a - b);
          const pieces = places.slice(1).map((place, index) => whole.subarray(places[index], place));
          expect(await read(pieces)).toEqual(texts);
        },
      ),
      { numRuns: caseCount(300) },
    );
  });
});
