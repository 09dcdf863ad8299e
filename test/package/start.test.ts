import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { command } from '../support/heddle.ts';

/** What a start reads: the entry, and the one file that has all that the server needs for its first answers. */
const entry = readFileSync(command, 'utf8');
const chunks = join(dirname(command), 'chunks');
const [digest] = readdirSync(chunks, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const server = readFileSync(join(chunks, digest!.name, 'serve.cjs'), 'utf8');

test('a server on stdio starts with these modules of Node and no others: each further one costs its start', () => {
  // What is loaded later is handed on from a promise.
  const loaded = (text: string): string[] =>
    [...text.matchAll(/(?<!=>__toESM\()\brequire\("([^".][^"]*)"\)/g)].map(([, name]) => name!).sort();
  expect([...new Set(loaded(entry))]).toEqual([
    'node:fs',
    'node:module',
    'node:os',
    'node:path',
    'node:process',
    'node:vm',
    'node:zlib',
  ]);
  expect([...new Set(loaded(server))]).toEqual([
    'node:events',
    'node:fs',
    'node:os',
    'node:path',
    'node:process',
    'node:stream/consumers',
  ]);
});

test('client, HTTP library, tools, metrics and traces are loaded after the start, or never', () => {
  // Words of the server, of undici, of the client, of a tool's description as it stands in the list and in the tool, of
  // the metrics and of the OpenTelemetry API.
  const words = ['a request with this id waits', 'llhttp', 'got no complete response within', 'Reads the items of one'];
  words.push('heddle_tool_calls_total', 'ProxyTracerProvider');
  expect(words.map((word) => server.split(word).length - 1)).toEqual([1, 0, 0, 1, 0, 0]);
});
