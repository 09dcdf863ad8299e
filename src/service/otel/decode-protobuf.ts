import { isUtf8 } from 'node:buffer';
import { OtlpError } from './otlp-error.ts';

/**
 * A message of OTLP in the form of its JSON encoding: `stringValue`, `traceId` in hexadecimal, 64-bit integers as text. Nothing
 * in it has been checked.
 */
export type OtlpTree = Readonly<Record<string, unknown>>;

/** The spans of one resource. Spans of a protobuf message are decoded while they are iterated. */
export interface SpanGroup {
  resource: unknown;
  spans: Iterable<unknown>;
}

/** Counts memory that is about to be taken, in bytes. May throw to end the work. */
export type Charge = (bytes: number) => void;

/** The encoding of a field. A `slice` is a message that is decoded later. */
type Scalar = 'text' | 'hex' | 'base64' | 'bool' | 'int64' | 'uint32' | 'fixed32' | 'fixed64' | 'double' | 'slice';

const wireTypes: Record<Scalar, number> = {
  text: 2,
  hex: 2,
  base64: 2,
  slice: 2,
  bool: 0,
  int64: 0,
  uint32: 0,
  fixed64: 1,
  double: 1,
  fixed32: 5,
};

type FieldName =
  | 'resourceSpans'
  | 'resource'
  | 'scopeSpans'
  | 'spans'
  | 'attributes'
  | 'droppedAttributesCount'
  | 'traceId'
  | 'spanId'
  | 'traceState'
  | 'parentSpanId'
  | 'name'
  | 'kind'
  | 'startTimeUnixNano'
  | 'endTimeUnixNano'
  | 'events'
  | 'droppedEventsCount'
  | 'links'
  | 'droppedLinksCount'
  | 'status'
  | 'flags'
  | 'timeUnixNano'
  | 'message'
  | 'code'
  | 'key'
  | 'value'
  | 'stringValue'
  | 'boolValue'
  | 'intValue'
  | 'doubleValue'
  | 'arrayValue'
  | 'kvlistValue'
  | 'bytesValue'
  | 'values';

interface Field {
  name: FieldName;
  kind: Scalar | (() => Message);
  isList: boolean;
}

/** The fields of a message by their numbers. Others are skipped. */
type Message = ReadonlyMap<number, Field>;

const one = (name: FieldName, kind: Field['kind']): Field => ({ name, kind, isList: false });
const list = (name: FieldName, kind: Field['kind']): Field => ({ name, kind, isList: true });

const anyValue: Message = new Map([
  [1, one('stringValue', 'text')],
  [2, one('boolValue', 'bool')],
  [3, one('intValue', 'int64')],
  [4, one('doubleValue', 'double')],
  [5, one('arrayValue', () => arrayValue)],
  [6, one('kvlistValue', () => keyValueList)],
  [7, one('bytesValue', 'base64')],
]);
const keyValue: Message = new Map([
  [1, one('key', 'text')],
  [2, one('value', () => anyValue)],
]);
const arrayValue: Message = new Map([[1, list('values', () => anyValue)]]);
const keyValueList: Message = new Map([[1, list('values', () => keyValue)]]);
const event: Message = new Map([
  [1, one('timeUnixNano', 'fixed64')],
  [2, one('name', 'text')],
  [3, list('attributes', () => keyValue)],
  [4, one('droppedAttributesCount', 'uint32')],
]);
const link: Message = new Map([
  [1, one('traceId', 'hex')],
  [2, one('spanId', 'hex')],
  [3, one('traceState', 'text')],
  [4, list('attributes', () => keyValue)],
  [5, one('droppedAttributesCount', 'uint32')],
  [6, one('flags', 'fixed32')],
]);
const status: Message = new Map([
  [2, one('message', 'text')],
  [3, one('code', 'uint32')],
]);
const span: Message = new Map([
  [1, one('traceId', 'hex')],
  [2, one('spanId', 'hex')],
  [3, one('traceState', 'text')],
  [4, one('parentSpanId', 'hex')],
  [5, one('name', 'text')],
  [6, one('kind', 'uint32')],
  [7, one('startTimeUnixNano', 'fixed64')],
  [8, one('endTimeUnixNano', 'fixed64')],
  [9, list('attributes', () => keyValue)],
  [10, one('droppedAttributesCount', 'uint32')],
  [11, list('events', () => event)],
  [12, one('droppedEventsCount', 'uint32')],
  [13, list('links', () => link)],
  [14, one('droppedLinksCount', 'uint32')],
  [15, one('status', () => status)],
  [16, one('flags', 'fixed32')],
]);
const resource: Message = new Map([
  [1, list('attributes', () => keyValue)],
  [2, one('droppedAttributesCount', 'uint32')],
]);
const scopeSpans: Message = new Map([[2, list('spans', 'slice')]]);
const resourceSpans: Message = new Map([
  [1, one('resource', () => resource)],
  [2, list('scopeSpans', () => scopeSpans)],
]);
const request: Message = new Map([[1, list('resourceSpans', () => resourceSpans)]]);

/** A value takes two levels of messages, so this is half as many levels of values. */
const maxDepth = 200;

/** Measured with Node 20 to 24, like those of `memoryBytesOf`. */
const bytesPerMessage = 200;
const bytesPerField = 40;
/** Memory of a call in bytes, besides its values. */
export const bytesPerSpan = 1024;

/** The bytes of a message that is not decoded yet. */
interface Slice {
  start: number;
  end: number;
}

/**
 * Decodes an `ExportTraceServiceRequest` or `TracesData`, which are encoded alike. Its spans are decoded one by one, while they
 * are iterated.
 * @throws OtlpError for bytes that are no such message; iterating the spans does too.
 */
export function decodeTraces(bytes: Buffer, charge: Charge): SpanGroup[] {
  const decoder = new Decoder(bytes, charge);
  const { resourceSpans = [] } = decoder.decode(request, 0, bytes.length) as {
    resourceSpans?: { resource?: unknown; scopeSpans?: { spans?: Slice[] }[] }[];
  };
  return resourceSpans.map(({ resource, scopeSpans = [] }) => ({
    resource,
    spans: (function* () {
      for (const { spans = [] } of scopeSpans) {
        for (const { start, end } of spans) yield decoder.decode(span, start, end);
      }
    })(),
  }));
}

class Decoder {
  readonly #bytes: Buffer;
  readonly #charge: Charge;
  #at = 0;

  constructor(bytes: Buffer, charge: Charge) {
    this.#bytes = bytes;
    this.#charge = charge;
  }

  decode(message: Message, start: number, end: number, depth = 0): OtlpTree {
    if (depth > maxDepth) throw new OtlpError(`The message is nested deeper than ${maxDepth} levels`);
    this.#charge(bytesPerMessage);
    let tree: Partial<Record<FieldName, unknown>> = {};
    this.#at = start;
    while (this.#at < end) {
      const tag = this.#varint(end);
      const wireType = tag % 8;
      const field = message.get(Math.floor(tag / 8));
      const fieldEnd = this.#endOfField(wireType, end);
      const kind = field?.kind;
      if (field && kind && wireType === (typeof kind === 'string' ? wireTypes[kind] : 2)) {
        this.#charge(bytesPerField);
        // A value has one member: the last one of the message.
        if (message === anyValue) tree = {};
        const value =
          typeof kind === 'string' ? this.#scalar(kind, fieldEnd) : this.decode(kind(), this.#at, fieldEnd, depth + 1);
        if (!field.isList) tree[field.name] = value;
        else if (tree[field.name]) (tree[field.name] as unknown[]).push(value);
        else tree[field.name] = [value];
      }
      this.#at = fieldEnd;
    }
    return tree;
  }

  /** Returns where the value of a field ends. A length is read; the position is then at the value. */
  #endOfField(wireType: number, end: number): number {
    const start = this.#at;
    let fieldEnd: number;
    if (wireType === 0) {
      this.#varint(end);
      fieldEnd = this.#at;
      this.#at = start;
    } else if (wireType === 1) fieldEnd = start + 8;
    else if (wireType === 2) {
      const length = this.#varint(end);
      fieldEnd = this.#at + length;
    } else if (wireType === 5) fieldEnd = start + 4;
    else throw this.#damaged();
    if (fieldEnd > end) throw this.#damaged();
    return fieldEnd;
  }

  #scalar(kind: Scalar, end: number): unknown {
    const bytes = this.#bytes;
    const start = this.#at;
    switch (kind) {
      case 'text':
        return this.#text(start, end);
      case 'hex':
      case 'base64':
        this.#charge(2 * (end - start));
        return bytes.toString(kind, start, end);
      case 'slice':
        this.#charge(bytesPerSpan);
        return { start, end } satisfies Slice;
      case 'bool':
        return this.#varint(end) !== 0;
      case 'uint32':
        return this.#varint(end);
      case 'int64':
        return this.#int64(end);
      case 'fixed32':
        return bytes.readUInt32LE(start);
      case 'fixed64':
        return `${bytes.readBigUInt64LE(start)}`;
      case 'double':
        return bytes.readDoubleLE(start);
    }
  }

  #text(start: number, end: number): string {
    this.#charge(2 * (end - start));
    const text = this.#bytes.toString('utf8', start, end);
    // Bytes that are not UTF-8 become this character, which valid text can have too.
    if (text.includes('\ufffd') && !isUtf8(this.#bytes.subarray(start, end))) {
      throw new OtlpError(`The text at byte ${start} is not UTF-8`);
    }
    return text;
  }

  /** Reads an integer without sign; it is exact up to 2^53, which lengths and the numbers of fields do not reach. */
  #varint(end: number): number {
    let value = 0;
    let factor = 1;
    for (let length = 0; length < 10 && this.#at < end; length += 1) {
      const byte = this.#bytes[this.#at]!;
      this.#at += 1;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    throw this.#damaged();
  }

  #int64(end: number): string {
    const start = this.#at;
    const value = this.#varint(end);
    if (Number.isSafeInteger(value)) return `${value}`;
    const bytes = [...this.#bytes.subarray(start, this.#at)].reverse();
    return `${BigInt.asIntN(
      64,
      bytes.reduce((sum, byte) => sum * 128n + BigInt(byte % 128), 0n),
    )}`;
  }

  #damaged(): OtlpError {
    return new OtlpError(`The protobuf message is cut off or damaged at byte ${this.#at}`);
  }
}
