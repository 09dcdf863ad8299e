import { readdirSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const src = fileURLToPath(new URL('../src', import.meta.url));

/** What each folder may import of the others. An arrow that is not here is a mistake, or a decision to be made here. */
const allowed: Record<string, string[]> = {
  contract: [],
  // What every HTTP server needs: that of MCP, of the embedded service, of the metrics.
  http: [],
  client: ['contract'],
  service: ['contract', 'http'],
  config: ['contract'],
  credentials: ['contract', 'config', 'client'],
  tools: ['contract', 'client', 'config', 'credentials'],
  mcp: ['contract', 'http', 'client', 'config', 'credentials', 'tools'],
  setup: ['contract', 'config'],
  telemetry: ['contract', 'config'],
  cli: ['contract', 'http', 'client', 'service', 'config', 'credentials', 'tools', 'mcp', 'setup', 'telemetry'],
  // What programs import; it puts a run together as the command line does.
  api: ['contract', 'client', 'config', 'credentials', 'mcp', 'telemetry', 'cli'],
};

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

/** Every module that a source file names, in static and dynamic imports and in re-exports. */
function importsOf(file: string): string[] {
  const text = readFileSync(resolve(src, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]!);
}

test('every folder of src has its place in the table', () => {
  expect([...new Set(files.map((file) => file.split(sep)[0]!))].sort()).toEqual(Object.keys(allowed).sort());
});

test('dependencies point one way', () => {
  const wrong = files.flatMap((file) => {
    const from = file.split(sep)[0]!;
    return importsOf(file)
      .filter((name) => name.startsWith('.') && !name.endsWith('package.json'))
      .map((name) => relative(src, resolve(src, dirname(file), name)).split(sep)[0]!)
      .filter((to) => to !== from && !allowed[from]?.includes(to))
      .map((to) => `${file} imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test('packages are used only where they belong', () => {
  const homes: Record<string, string[]> = {
    undici: ['client', 'service', 'cli'],
    '@modelcontextprotocol/server': ['mcp'],
    '@modelcontextprotocol/client': ['cli'],
    '@napi-rs/keyring': ['credentials'],
    jose: ['mcp'],
    hono: ['service'],
    kysely: ['service'],
    pg: ['service'],
    commander: ['cli'],
    'prom-client': ['telemetry'],
    '@opentelemetry/api': ['telemetry'],
    'jsonc-parser': ['setup', 'cli'],
    'smol-toml': ['setup'],
  };
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .map((name) => Object.keys(homes).find((home) => name === home || name.startsWith(`${home}/`)))
      .filter((home): home is string => home !== undefined && !homes[home]!.includes(file.split(sep)[0]!))
      .map((home) => `${file} imports ${home}`),
  );
  expect(wrong).toEqual([]);
});

test('the contract imports zod and nothing else', () => {
  const outside = files
    .filter((file) => file.startsWith(`contract${sep}`))
    .flatMap(importsOf)
    .filter((name) => !name.startsWith('./'));
  expect([...new Set(outside)]).toEqual(['zod']);
});

test('only the command line reads argv, and writes to stdout', () => {
  const wrong = files
    .filter((file) => !file.startsWith(`cli${sep}`))
    .filter((file) => /process\.(argv|stdout)|console\./.test(readFileSync(resolve(src, file), 'utf8')));
  expect(wrong).toEqual([]);
});
