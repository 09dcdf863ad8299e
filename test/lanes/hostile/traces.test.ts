import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { otlpAttributes, otlpMessage, otlpSpan, protobufField, protobufTraces } from '../../support/otlp-messages.ts';
import { addAccount, startServiceProcess } from '../../support/service-process.ts';

const home = emptyHome(temporaryFolder());
const { password } = await addAccount('ada', home);
const { url, child } = await startServiceProcess(home);

const mebibyte = 1024 * 1024;
const attribute = (value: Buffer) => protobufField(9, Buffer.concat([protobufField(1, 'a'), protobufField(2, value)]));
const attributes = Array.from({ length: 100_000 }, (_, index) => [`${index}${'.a'.repeat(15)}`, 'x']);

interface Case {
  what: string;
  body: () => Buffer;
  json?: true;
  status: number;
}

const cases: Case[] = [
  { what: 'millions of empty spans', body: () => protobufField(1, protobufField(2, evenly('1200'))), status: 413 },
  { what: 'millions of empty attributes', body: () => protobufTraces(evenly('4a00')), status: 413 },
  {
    what: 'millions of empty values',
    body: () => protobufTraces(attribute(protobufField(5, evenly('0a00')))),
    status: 413,
  },
  { what: 'millions of unknown fields', body: () => protobufTraces(evenly('980600')), status: 200 },
  { what: 'a text with too many objects of JSON', body: () => ofText(`[${'{},'.repeat(9_000_000)}{}]`), status: 200 },
  { what: 'a text of opened lists', body: () => ofText('['.repeat(10 * mebibyte)), status: 200 },
  { what: 'a name with millions of dots', body: () => ofName('.'.repeat(20 * mebibyte)), status: 200 },
  {
    what: 'attributes with long paths',
    body: () =>
      Buffer.from(
        JSON.stringify(otlpMessage([otlpSpan({ attributes: otlpAttributes(Object.fromEntries(attributes)) })])),
      ),
    json: true,
    status: 200,
  },
  {
    what: 'JSON of millions of spans',
    body: () => Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${'{},'.repeat(8_000_000)}{}]}]}]}`),
    json: true,
    status: 413,
  },
  {
    what: 'JSON of a hundred thousand spans',
    body: () => Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${'{},'.repeat(100_000)}{}]}]}]}`),
    json: true,
    status: 200,
  },
];

/** Returns 30 MiB of a field, which is given in hexadecimal. */
function evenly(field: string): Buffer {
  const bytes = Buffer.from(field, 'hex');
  return Buffer.alloc(Math.floor((30 * mebibyte) / bytes.length) * bytes.length, bytes);
}

const ofText = (text: string): Buffer => protobufTraces(attribute(protobufField(1, text)));
const ofName = (name: string): Buffer =>
  protobufTraces(protobufField(9, Buffer.concat([protobufField(1, name), protobufField(2, protobufField(1, 'x'))])));

async function send(body: Buffer, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${url}/otel/v1/traces`, {
    method: 'POST',
    headers: { 'wandb-api-key': password, project_id: 'p/q', 'content-type': 'application/x-protobuf', ...headers },
    body: new Uint8Array(body),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Returns the peak memory of the service in MiB. */
const peakMemory = (): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024;

describe('spans', () => {
  it.each(cases)('are answered with $status for $what', async ({ body, json, status }) => {
    expect(await send(body(), json ? { 'content-type': 'application/json' } : {})).toBe(status);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it('are refused if they unpack to a thousand times their size', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * mebibyte));
    expect(await send(bomb, { 'content-encoding': 'gzip' })).toBe(413);
  });

  it('leave the service with bounded memory', () => {
    expect(peakMemory()).toBeLessThan(2048);
  });
});
