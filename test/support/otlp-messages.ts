/** The JSON encoding of the attributes of OpenTelemetry. Integers are `intValue`, other numbers `doubleValue`. */
export function otlpAttributes(attributes: Record<string, unknown>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: `${value}` } : { doubleValue: value };
  if (typeof value === 'bigint') return { intValue: `${value}` };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return value === null ? {} : { kvlistValue: { values: otlpAttributes(value as Record<string, unknown>) } };
}

/** Returns a span in OTLP's JSON encoding: of 2 ms, and without a parent. */
export function otlpSpan(members: object = {}): Record<string, unknown> {
  return {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: 'b7ad6b7169203331',
    name: 'chat',
    kind: 3,
    startTimeUnixNano: '1770508801000001999',
    endTimeUnixNano: '1770508801002000000',
    ...members,
  };
}

/** Returns a message with spans of one resource in OTLP's JSON encoding. */
export function otlpMessage(spans: object[], resource: Record<string, unknown> = {}): object {
  return {
    resourceSpans: [
      { resource: { attributes: otlpAttributes(resource) }, scopeSpans: [{ scope: { name: 'test' }, spans }] },
    ],
  };
}

/** Encodes a field of a protobuf message: bytes or text with their length, or an integer. */
export function protobufField(number: number, value: Uint8Array | string | number): Buffer {
  if (typeof value === 'number') return Buffer.concat([varint(number * 8), varint(value)]);
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** Encodes an integer without sign. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return Buffer.from([...bytes, left]);
}

/** Encodes a message of protobuf with one span, which has these fields besides its ids, name and times. */
export function protobufTraces(...fields: Buffer[]): Buffer {
  const time = (number: number, nanoseconds: bigint): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(nanoseconds);
    return Buffer.concat([varint(number * 8 + 1), bytes]);
  };
  const span = Buffer.concat([
    protobufField(1, Buffer.from('0af7651916cd43dd8448eb211c80319c', 'hex')),
    protobufField(2, Buffer.from('b7ad6b7169203331', 'hex')),
    protobufField(5, 'chat'),
    time(7, 1_770_508_801_000_001_999n),
    time(8, 1_770_508_801_002_000_000n),
    ...fields,
  ]);
  return protobufField(1, protobufField(2, protobufField(2, span)));
}
