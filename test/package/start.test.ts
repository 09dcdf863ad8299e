import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const command = join(import.meta.dirname, '../../dist/heddle.js');

/** Modules that are loaded with a file of the build, itself and all it imports, by name; not what it loads later. */
function loadedWith(file: string, found = new Set<string>()): Set<string> {
  found.add(file);
  for (const [, specifier] of readFileSync(file, 'utf8').matchAll(/(?:^|[;}\n])(?:import|export)[^"';()]*"([^"]+)"/g)) {
    if (!specifier!.startsWith('.')) found.add(specifier!);
    else if (!found.has(join(dirname(file), specifier!))) loadedWith(join(dirname(file), specifier!), found);
  }
  return found;
}

test('a server on stdio starts with these modules of Node and no others: each further one costs its start', () => {
  const loaded = [command, join(dirname(command), 'chunks/run-serve.js')].flatMap((file) => [...loadedWith(file)]);
  const ofNode = new Set(loaded.filter((name) => name.startsWith('node:')));
  expect([...ofNode].sort()).toEqual([
    'node:events',
    'node:fs',
    'node:module',
    'node:os',
    'node:path',
    'node:process',
    'node:stream/consumers',
  ]);
});

test('client, HTTP library, tools, metrics and traces are loaded after the start, or never', () => {
  const loaded = [...loadedWith(join(dirname(command), 'chunks/run-serve.js'))].filter((name) => name.endsWith('.js'));
  const texts = loaded.map((file) => readFileSync(file, 'utf8')).join('\n');
  // Words of the server, of undici, of the client, of a tool's description as it stands in the list and in the tool, of
  // the metrics and of the OpenTelemetry API.
  const words = ['a request with this id waits', 'llhttp', 'had no complete answer within', 'Reads the items of one'];
  words.push('heddle_tool_calls_total', 'ProxyTracerProvider');
  expect(words.map((word) => texts.split(word).length - 1)).toEqual([1, 0, 0, 1, 0, 0]);
});
