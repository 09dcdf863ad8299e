import fc from 'fast-check';
import * as z from 'zod';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/endpoints.ts';
import { itemLine } from '../../src/service/admin/import-items.ts';
import type { JsonSchema } from '../../src/tools/definition/arguments.ts';
import { tools } from '../../src/tools/definition/registry.ts';
import { heavyObject, strangeName } from './fuzz-attacks.ts';
import { inheritedNames } from './inherited-names.ts';
import { otlpAttributes, otlpMessage, otlpSpan } from './otlp-messages.ts';
import { recordedSpans } from './recorded-spans.ts';

/** Names that exist where the inputs are sent, so that they reach more than the checks of names. */
const knownNames = [
  'a/b',
  'q',
  'c1',
  'op',
  'inputs.question',
  'heddle/echo',
  'unstarted',
  'weave:///a/b/object/d:latest',
];
const knownTimes = ['2026-01-01T00:00:00Z', '2026-01-31'];

const strangeStrings = fc.oneof(
  fc.constantFrom('', '\0', '\ud800', '..', '../..', '%2e%2e%2f', '\u202e', '\u001b[2J', '\ufeff', '__proto__', '*'),
  fc.constantFrom('{a}', '{{}}', '{', 'data: [DONE]\n\n', 'a.'.repeat(300), '[0]'.repeat(300)),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .tuple(fc.constantFrom('a', '{a}', 'é', '\\"', 'x-', 'eyJ', '😀'), fc.integer({ min: 1, max: 60_000 }))
    .map(([text, count]) => text.repeat(count)),
);

const strangeNumbers = fc.constantFrom(0, -0, -1, 0.1, 1e308, 2 ** 31, 2 ** 53, Number.MAX_SAFE_INTEGER, 1_000, 128);

const nested = fc
  .tuple(fc.constantFrom('[]', '{}'), fc.integer({ min: 2, max: 480 }))
  .map(([kind, levels]) => JSON.parse(kind === '[]' ? `${'['.repeat(levels)}${']'.repeat(levels)}` : objects(levels)));
const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

const strange: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: strangeStrings },
  { weight: 2, arbitrary: strangeNumbers },
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: nested },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.jsonValue({ maxDepth: 1 }), fc.integer({ min: 100, max: 20_000 }))
      .map(([value, count]) => Array.from({ length: count }, () => value)),
  },
);

/** Generates values for a JSON Schema: most of them fit, and some have one strange part. */
function fromSchema(schema: JsonSchema, depth = 0): fc.Arbitrary<unknown> {
  const good = goodValue(schema, depth);
  return fc.oneof({ weight: 24, arbitrary: good }, { weight: 1, arbitrary: strange });
}

function goodValue(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
  const options = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (options) return fc.oneof(...options.map((option) => fromSchema(option, depth)));
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  switch (depth > 4 ? 'string' : schema.type) {
    case 'object': {
      const required = (schema.required ?? []) as string[];
      const members = Object.entries(schema.properties ?? {}).map(
        ([name, part]) => [name, fromSchema(part, depth + 1)] as const,
      );
      if (members.length === 0) return fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
      return fc.record(Object.fromEntries(members), { requiredKeys: required });
    }
    case 'array':
      return fc.array(fromSchema((schema.items ?? {}) as JsonSchema, depth + 1), { maxLength: 6 });
    case 'integer':
      return fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 2_000 }));
    case 'number':
      return fc.double({ min: 0, max: 2, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return fc.oneof(fc.constantFrom(...knownNames, ...knownTimes), fc.string({ maxLength: 10 }));
    default:
      return fc.oneof(expression, fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(...knownNames));
  }
}

const names = fc.oneof(
  fc.constantFrom('a', 'role', 'content', 'inputs', '$expr', ...inheritedNames),
  fc.string({ maxLength: 5 }),
);

/** Conditions on recorded calls and feedback. */
const expression: fc.Arbitrary<unknown> = fc.letrec<{ operand: unknown }>((tie) => ({
  operand: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('id', 'inputs.question', 'started_at', 'x').map((name) => ({ $getField: name })),
    fc.jsonValue({ maxDepth: 1 }).map((value) => ({ $literal: value })),
    fc
      .tuple(fc.constantFrom('$and', '$or', '$eq', '$gt', '$gte', '$not'), fc.array(tie('operand'), { maxLength: 3 }))
      .map(([operator, operands]) => ({ [operator]: operands })),
    fc.tuple(tie('operand'), fc.array(tie('operand'), { maxLength: 3 })).map(([one, list]) => ({ $in: [one, list] })),
    fc.tuple(tie('operand'), tie('operand')).map(([input, substr]) => ({ $contains: { input, substr } })),
    fc
      .tuple(tie('operand'), fc.constantFrom('double', 'int', 'string', 'bool', 'exists', 'x'))
      .map(([input, to]) => ({ $convert: { input, to } })),
  ),
})).operand;

/** Text of JSON that is not quite what it should be. */
function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const position = fc.double({ min: 0, max: 1, noNaN: true });
  const cut = (json: string, at: number): number => Math.floor(json.length * at);
  return fc.oneof(
    { weight: 12, arbitrary: text },
    { weight: 1, arbitrary: fc.tuple(text, position).map(([json, at]) => json.slice(0, cut(json, at))) },
    { weight: 1, arbitrary: text.map((json) => `\ufeff${json}\r`) },
    { weight: 1, arbitrary: text.map((json) => json.replace('{', '{"__proto__":{"polluted":1},')) },
    { weight: 1, arbitrary: text.map((json) => json.replace(/:\d+/, ':1e999')) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(text, fc.integer({ min: 490, max: 100_000 }), fc.boolean())
        .map(([json, levels, closed]) =>
          json.replace(/:(?=[^:]*$)/, `:${'['.repeat(levels)}${closed ? ']'.repeat(levels) : ''}`),
        ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(text, position, fc.string({ unit: 'binary', maxLength: 5 })).map(([json, at, noise]) => {
        return json.slice(0, cut(json, at)) + noise + json.slice(cut(json, at));
      }),
    },
  );
}

const toolCallParams = fc
  .constantFrom(...tools)
  .chain((tool) => fromSchema(tool.inputJsonSchema).map((args) => ({ name: tool.name, arguments: args })));
const otherParams = fc.dictionary(
  fc.constantFrom('name', 'uri', 'ref', 'argument', '_meta', 'cursor', 'requestId', 'protocolVersion', 'capabilities'),
  fc.oneof(
    strange,
    fc.constantFrom<unknown>('heddle://a/b/queues/q', 'heddle://a/b/calls/c1', { type: 'ref/prompt', name: 'x' }),
  ),
  { maxKeys: 4 },
);
const methods = [
  'tools/list',
  'ping',
  'prompts/list',
  'prompts/get',
  'resources/read',
  'resources/templates/list',
  'completion/complete',
  'notifications/cancelled',
  'notifications/progress',
  'logging/setLevel',
  'server/discover',
  'constructor',
];
const ids = fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 1, max: 1e9 }) }, { weight: 1, arbitrary: strange });
const message = fc.oneof(
  { weight: 5, arbitrary: fc.record({ id: ids, method: fc.constant('tools/call'), params: toolCallParams }) },
  {
    weight: 2,
    arbitrary: fc.record(
      { id: ids, method: fc.constantFrom(...methods), params: otherParams },
      { requiredKeys: ['method'] },
    ),
  },
  { weight: 1, arbitrary: fc.record({ id: ids, result: strange }) },
);
const envelope = message.map((members) => ({ jsonrpc: '2.0', ...members }));

/** Protocol messages, also in batches and damaged, as the text of a line or a body. */
export const protocolText: fc.Arbitrary<string> = damaged(
  fc.oneof(
    { weight: 8, arbitrary: envelope.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.array(envelope, { maxLength: 5 }).map((value) => JSON.stringify(value)) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          fc.constantFrom('1', '{}', '[]', '{"jsonrpc":"2.0","method":"ping"}'),
          fc.integer({ max: 30_000, min: 1 }),
        )
        .map(([entry, count]) => `[${`${entry},`.repeat(count)}1]`),
    },
  ),
).map((text) => text.replaceAll('\n', ' '));

/** A request to the embedded service. */
export interface ServiceRequest {
  method: string;
  path: string;
  auth: 'basic' | 'bearer';
  body: string | undefined;
}

const pathPart = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'q', 'c1', 'chat') },
  { weight: 1, arbitrary: strangeStrings.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 4_000)) },
);

function requestTo({ method, path, auth, request, query }: Endpoint): fc.Arbitrary<ServiceRequest> {
  const count = path.match(/\{\w+\}/g)?.length ?? 0;
  const parameters = query ? Object.keys((query as unknown as z.ZodObject).shape) : [];
  const parameter = fc.oneof(
    fc.constantFrom('a/b', '1', '0'),
    strangeStrings.map((text) => text.slice(0, 2_000)),
  );
  const body = request
    ? damaged(
        fromSchema(z.toJSONSchema(request, { io: 'input', unrepresentable: 'any' }) as JsonSchema).map((value) =>
          JSON.stringify(value),
        ),
      )
    : fc.constant(undefined);
  return fc
    .record({
      parts: fc.array(pathPart, { minLength: count, maxLength: count }),
      values: fc.dictionary(fc.constantFrom('x', ...parameters), parameter, { maxKeys: 3 }),
      body,
    })
    .map(({ parts, values, body }) => {
      const filled = path.replace('{path*}', '/chat/completions').replace(/\{\w+\}/g, () => parts.shift()!);
      const wellFormed = Object.entries(values).map(([name, value]): [string, string] => [name, value.toWellFormed()]);
      return { method, auth, path: `${filled}?${new URLSearchParams(wellFormed)}`, body };
    });
}

/** Requests to every operation of the embedded service. */
export const serviceRequest: fc.Arbitrary<ServiceRequest> = fc.oneof(
  ...Object.values(endpoints as Record<string, Endpoint>).map(requestTo),
);

/** Lines whose values are small as text and large in memory, and whose names every object inherits. */
const heavyLine = fc
  .record({ call_id: strangeName, call_op_name: strangeName, inputs: heavyObject })
  .map(({ inputs, ...item }) => {
    const line = JSON.stringify({ ...item, call_trace_id: 't', call_started_at: knownTimes[0] });
    return `${line.slice(0, -1)},"call":{"inputs":${inputs}}}`;
  });

/** Changes of bytes: others instead of some, more of them, or fewer. */
const damagedBytes = (bytes: Buffer): fc.Arbitrary<Uint8Array> =>
  fc
    .array(fc.tuple(fc.nat(bytes.length), fc.integer({ min: 0, max: 3 }), fc.uint8Array({ maxLength: 8 })), {
      maxLength: 6,
    })
    .map((changes) =>
      changes.reduce((changed, [at, removed, added]) => {
        return Buffer.concat([changed.subarray(0, at), added, changed.subarray(at + removed)]);
      }, bytes),
    );

const spanTree = fc.record(
  {
    spanId: fc.oneof(fc.constant('b7ad6b7169203331'), strange),
    name: strange,
    startTimeUnixNano: fc.oneof(fc.constantFrom('1770508801000001999', '-1', '9'.repeat(20)), strange),
    endTimeUnixNano: strange,
    attributes: fc.oneof(
      fc
        .dictionary(fc.constantFrom('input.value', 'a', 'a.b', '__proto__.x', 'gen_ai.usage.input_tokens'), strange)
        .map(otlpAttributes),
      strange,
    ),
    events: fc.oneof(fc.constant([]), strange),
    status: strange,
  },
  { requiredKeys: [] },
);

/** Spans for the embedded service in OTLP, many of them damaged: the type of the content, and the bytes. */
export const tracesRequest: fc.Arbitrary<{ type: string; bytes: Uint8Array }> = fc.oneof(
  damagedBytes(Buffer.from(recordedSpans, 'base64')).map((bytes) => ({ type: 'application/x-protobuf', bytes })),
  damaged(fc.array(spanTree, { maxLength: 3 }).map((spans) => JSON.stringify(otlpMessage(spans.map(otlpSpan))))).map(
    (text) => ({
      type: 'application/json',
      bytes: Buffer.from(text),
    }),
  ),
);

/** Files to import: lines of items, some of them damaged. */
export const importFile: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: damaged(
          fromSchema(z.toJSONSchema(itemLine, { io: 'input', unrepresentable: 'any' }) as JsonSchema).map((value) =>
            JSON.stringify(value),
          ),
        ),
      },
      { weight: 1, arbitrary: heavyLine },
    ),
    { minLength: 1, maxLength: 20 },
  )
  .map((lines) => lines.join('\n'));

/** Changes of a good body, as a hostile service might send it. */
export const bodyChange: fc.Arbitrary<(body: string) => string> = fc
  .tuple(strange, fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 3 }))
  .map(([value, at, kind]) => (body) => {
    if (kind === 0) return body;
    const places = [...body.matchAll(/"(?:[^"\\]|\\.)*"(?!:)|\d+|null|\[\]/g)];
    const place = places[at % Math.max(places.length, 1)];
    if (!place) return body;
    const text = kind === 1 ? JSON.stringify(value) : place[0];
    const more = kind === 2 ? `,"strange":${JSON.stringify(value)}` : '';
    return `${body.slice(0, place.index)}${text}${more}${body.slice(place.index + place[0].length)}`;
  });
