import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/service/otel/decode-protobuf.ts';
import { protobufField, protobufTraces } from '../../support/otlp-messages.ts';

/** Returns the spans of a message. */
const spansIn = (bytes: Buffer) => decodeTraces(bytes, () => {}).flatMap(({ spans }) => [...spans]);

/** Encodes the attribute `a` with a value, as a field of a span. */
const attribute = (value: Buffer) => protobufField(9, Buffer.concat([protobufField(1, 'a'), protobufField(2, value)]));

describe('decodeTraces', () => {
  it('decodes the fields of a span as the JSON encoding of OTLP has them', () => {
    const status = protobufField(15, Buffer.concat([protobufField(2, 'no'), protobufField(3, 2)]));
    expect(spansIn(protobufTraces(protobufField(6, 3), status, attribute(protobufField(2, 1))))).toEqual([
      {
        traceId: '0af7651916cd43dd8448eb211c80319c',
        spanId: 'b7ad6b7169203331',
        name: 'chat',
        kind: 3,
        startTimeUnixNano: '1770508801000001999',
        endTimeUnixNano: '1770508801002000000',
        status: { message: 'no', code: 2 },
        attributes: [{ key: 'a', value: { boolValue: true } }],
      },
    ]);
  });

  it.each([
    { integer: '-1', bytes: [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01] },
    { integer: '9007199254740993', bytes: [0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10] },
    { integer: '-9223372036854775808', bytes: [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01] },
  ])('decodes the integer $integer', ({ integer, bytes }) => {
    const [span] = spansIn(protobufTraces(attribute(Buffer.from([0x18, ...bytes]))));
    expect(span).toMatchObject({ attributes: [{ value: { intValue: integer } }] });
  });

  it('skips fields that it does not know, and takes the last of those that may occur only once', () => {
    const unknown = [protobufField(99, 'new'), protobufField(98, 5), Buffer.from([0xf5, 0x06, 1, 2, 3, 4])];
    const value = Buffer.concat([protobufField(1, 'first'), protobufField(2, 1)]);
    expect(spansIn(protobufTraces(...unknown, protobufField(5, 'last'), attribute(value)))).toMatchObject([
      { name: 'last', attributes: [{ key: 'a', value: { boolValue: true } }] },
    ]);
  });

  it('has no spans for a message without any', () => {
    expect(spansIn(Buffer.alloc(0))).toEqual([]);
    expect(spansIn(protobufField(1, ''))).toEqual([]);
  });

  it('keeps the NUL character and the replacement character in text', () => {
    expect(spansIn(protobufTraces(protobufField(5, 'a\0b\ufffd')))).toMatchObject([{ name: 'a\0b\ufffd' }]);
  });

  it.each([
    { what: 'a length beyond the message', bytes: Buffer.from([0x0a, 0x7f, 0x00]) },
    { what: 'a length beyond every message', bytes: Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]) },
    { what: 'a number that does not end', bytes: Buffer.alloc(20, 0xff) },
    { what: 'a number that is cut off', bytes: Buffer.from([0x80]) },
    { what: 'a time that is cut off', bytes: protobufTraces(Buffer.from([0x39, 1, 2])) },
    { what: 'a group', bytes: Buffer.from([0x0b, 0x0c]) },
    {
      what: 'a span longer than its scope',
      bytes: protobufField(1, protobufField(2, Buffer.from([0x12, 0x05, 0x0a]))),
    },
    { what: 'text', bytes: Buffer.from('{"resourceSpans":[]}') },
  ])('refuses $what', ({ bytes }) => {
    expect(() => spansIn(bytes)).toThrow(/^The protobuf message is cut off or damaged at byte \d+$/);
  });

  it('refuses text that is not UTF-8', () => {
    expect(() => spansIn(protobufTraces(protobufField(5, Buffer.from([0xc3, 0x28]))))).toThrow('is not UTF-8');
  });

  it('refuses values that are nested without end', () => {
    let value = protobufField(1, 'x');
    for (let depth = 0; depth < 200; depth += 1) value = protobufField(5, protobufField(1, value));
    expect(() => spansIn(protobufTraces(attribute(value)))).toThrow('The message is nested deeper than 200 levels');
  });

  it('counts the memory of a span before it takes it', () => {
    let charged = 0;
    const bytes = protobufTraces(...Array.from({ length: 1000 }, () => protobufField(9, '')));
    const spans = decodeTraces(bytes, (memoryBytes) => {
      charged += memoryBytes;
    });
    expect(charged).toBeLessThan(5000);
    expect([...spans[0]!.spans]).toHaveLength(1);
    expect(charged).toBeGreaterThan(160_000);
  });

  it('ends when the memory is refused', () => {
    const charge = (): void => {
      throw new Error('no memory');
    };
    expect(() => decodeTraces(protobufTraces(), charge)).toThrow('no memory');
  });
});
