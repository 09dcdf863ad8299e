// One program that sends spans over OTLP/HTTP as fast as the service takes them, in batches of 512, as exporters do by default: protobuf
// with the attributes of the GenAI conventions. Arguments: URL, project, number of spans. Prints a line with the number of spans after each
// acknowledged batch.
import { randomBytes } from 'node:crypto';
import { Client } from 'undici';

const [url, project, count] = process.argv.slice(2);
const spansPerBatch = 512;
/** Spans of a trace: a root, and its children. */
const spansPerTrace = 5;

const vocabulary = 'order refund invoice delivery address parcel customer ticket warranty agent policy delay'.split(
  ' ',
);
let seed = process.pid;
const random = (below) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * below);
};
const words = (number) => Array.from({ length: number }, () => vocabulary[random(vocabulary.length)]).join(' ');

function varint(value) {
  const bytes = [];
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return Buffer.from([...bytes, left]);
}
/** Encodes a field: a text or bytes with their length, an integer, or a time as BigInt. */
function field(number, value) {
  if (typeof value === 'number') return Buffer.concat([varint(number * 8), varint(value)]);
  if (typeof value === 'bigint') {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    return Buffer.concat([varint(number * 8 + 1), bytes]);
  }
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}
const attribute = (number, key, value) =>
  field(number, Buffer.concat([field(1, key), field(2, field(typeof value === 'number' ? 3 : 1, value))]));

const resource = field(1, Buffer.concat([attribute(1, 'service.name', 'bench'), attribute(1, 'service.version', '1')]));
const scope = field(1, field(1, 'bench'));

let nanoseconds = BigInt(Date.now()) * 1_000_000n;
let trace;
let root;

function spanOf(index) {
  const isRoot = index % spansPerTrace === 0;
  const id = randomBytes(8);
  if (isRoot) [trace, root] = [randomBytes(16), id];
  nanoseconds += 1_000_000n;
  const input = JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: words(60) }] }]);
  const output = JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: words(60) }] }]);
  return Buffer.concat([
    field(1, trace),
    field(2, id),
    ...(isRoot ? [] : [field(4, root)]),
    field(5, isRoot ? 'invoke_agent support' : `chat model-${index % spansPerTrace}`),
    field(6, 3),
    field(7, nanoseconds),
    field(8, nanoseconds + 900_000n),
    attribute(9, 'gen_ai.operation.name', isRoot ? 'invoke_agent' : 'chat'),
    attribute(9, 'gen_ai.provider.name', 'openai'),
    attribute(9, 'gen_ai.request.model', 'model-1'),
    attribute(9, 'gen_ai.response.model', 'model-1'),
    attribute(9, 'gen_ai.usage.input_tokens', 400 + random(400)),
    attribute(9, 'gen_ai.usage.output_tokens', random(200)),
    attribute(9, 'gen_ai.input.messages', input),
    attribute(9, 'gen_ai.output.messages', output),
  ]);
}

const client = new Client(url, { headersTimeout: 0, bodyTimeout: 0 });
const headers = {
  'wandb-api-key': process.env.WANDB_API_KEY,
  project_id: project,
  'content-type': 'application/x-protobuf',
};
for (let sent = 0; sent < Number(count); ) {
  const size = Math.min(spansPerBatch, Number(count) - sent);
  const spans = Array.from({ length: size }, (_, index) => field(2, spanOf(sent + index)));
  const body = field(1, Buffer.concat([resource, field(2, Buffer.concat([scope, ...spans]))]));
  const response = await client.request({ method: 'POST', path: '/otel/v1/traces', headers, body });
  const text = await response.body.text();
  if (response.statusCode !== 200 || text !== '{"partial_success":null}') {
    throw new Error(`${response.statusCode}: ${text.slice(0, 500)}`);
  }
  sent += size;
  process.stdout.write(`${size}\n`);
}
await client.close();
