import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const src = join(root, 'src');

/** The folders of src that each may import, besides itself. An import that is missing here is a mistake, or a decision to make here. */
const allowed: Record<string, string[]> = {
  core: [],
  contract: ['core'],
  client: ['core', 'contract'],
  service: ['core', 'contract'],
  text: ['core', 'contract'],
  records: ['core', 'contract', 'client', 'text'],
  queues: ['core', 'contract', 'client', 'text', 'records'],
  evaluations: ['core', 'contract', 'client', 'text', 'records', 'queues'],
  tools: ['core', 'contract', 'client', 'text', 'records', 'queues', 'evaluations'],
  // They run in a browser, so they import types, and only one file that needs nothing else.
  board: ['queues', 'evaluations', 'tools'],
  mcp: ['core', 'contract', 'client', 'text', 'records', 'queues', 'tools', 'board'],
  settings: ['core', 'contract'],
  telemetry: ['core'],
  'client-setup': ['core'],
  runtime: ['core', 'client', 'service', 'tools', 'board', 'mcp', 'settings', 'telemetry'],
  cli: [
    'core',
    'contract',
    'client',
    'service',
    'text',
    'records',
    'queues',
    'evaluations',
    'tools',
    'mcp',
    'settings',
    'client-setup',
    'runtime',
  ],
  'library.ts': ['core', 'contract', 'client', 'mcp', 'settings', 'telemetry', 'runtime'],
};

/** The folders that may import a package; packages that are not listed may be imported everywhere. */
const packageHomes: Record<string, string[]> = {
  undici: ['core'],
  '@modelcontextprotocol/server': ['mcp'],
  '@modelcontextprotocol/client': ['cli'],
  '@napi-rs/keyring': ['settings'],
  jose: ['mcp'],
  hono: ['runtime', 'service'],
  'openid-client': ['runtime'],
  kysely: ['service'],
  pg: ['service'],
  commander: ['cli'],
  preact: ['board'],
  commonmark: ['board'],
  diff: ['board'],
  'prom-client': ['telemetry'],
  '@opentelemetry/api': ['telemetry'],
  'jsonc-parser': ['client-setup'],
  'smol-toml': ['client-setup'],
  yaml: ['cli'],
};

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
const folderOf = (file: string): string => file.split(sep)[0]!;

/** Lists the modules that a file names, in static and dynamic imports, re-exports and import types. */
function importsOf(file: string): string[] {
  return [...texts.get(file)!.matchAll(/(?<!')\b(?:from|import)\s*\(?\s*'([^'\n]+)'/g)].map((match) => match[1]!);
}

/** Lists the files of src that a file imports. */
function filesImportedBy(file: string): string[] {
  return importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(src, resolve(src, dirname(file), name)))
    .filter((to) => texts.has(to));
}

/** Lists the packages that a file imports, with their subpaths. */
function packagesImportedBy(file: string): { name: string; subpath: string }[] {
  return importsOf(file)
    .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
    .map((specifier) => {
      const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)![0];
      return { name, subpath: `.${specifier.slice(name.length)}` };
    });
}

describe('src', () => {
  it('has exactly the folders of the table', () => {
    expect([...new Set(files.map(folderOf))].sort()).toEqual(Object.keys(allowed).sort());
  });

  it('imports between folders only what the table allows', () => {
    const wrong = files.flatMap((file) =>
      filesImportedBy(file)
        .filter((to) => folderOf(to) !== folderOf(file) && !allowed[folderOf(file)]?.includes(folderOf(to)))
        .map((to) => `${file} imports ${to}`),
    );
    expect(wrong).toEqual([]);
  });

  it('uses every import that the table allows', () => {
    const used = new Set(
      files.flatMap((file) => filesImportedBy(file).map((to) => `${folderOf(file)} → ${folderOf(to)}`)),
    );
    const unused = Object.entries(allowed).flatMap(([from, folders]) =>
      folders.map((to) => `${from} → ${to}`).filter((arrow) => !used.has(arrow)),
    );
    expect(unused).toEqual([]);
  });

  it('has no folder of shared things that another room imports, and none with more than 12 files', () => {
    const isShared = (file: string): boolean =>
      dirname(file)
        .split(sep)
        .some((name) => /^(shared|support|utils?)$/.test(name));
    const wrong = files.flatMap((file) =>
      filesImportedBy(file)
        .filter((to) => isShared(to) && folderOf(to) !== folderOf(file))
        .map((to) => `${file} imports ${to}`),
    );
    expect(wrong).toEqual([]);
    const counts = new Map<string, number>();
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    const big = [...counts].filter(
      ([folder, count]) => count > 12 && (folderOf(folder) === 'core' || isShared(join(folder, 'file'))),
    );
    expect(big).toEqual([]);
  });

  it('has no import cycle', () => {
    const finished = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (path.includes(file) || finished.has(file)) return;
      for (const to of filesImportedBy(file)) visit(to, [...path, file]);
      finished.add(file);
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it('exports every name from one file only', () => {
    const homes = new Map<string, string[]>();
    for (const [file, text] of texts) {
      const names = [
        ...text.matchAll(/^export (?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type) (\w+)/gm),
      ];
      for (const name of new Set(names.map((match) => match[1]!))) {
        homes.set(name, [...(homes.get(name) ?? []), file]);
      }
    }
    expect(Object.fromEntries([...homes].filter(([, exporters]) => exporters.length > 1))).toEqual({});
  });

  it('imports packages only in the folders that the table allows, and in each of these', () => {
    const wrong = files.flatMap((file) =>
      packagesImportedBy(file)
        .filter(({ name }) => packageHomes[name] && !packageHomes[name].includes(folderOf(file)))
        .map(({ name }) => `${file} imports ${name}`),
    );
    expect(wrong).toEqual([]);
    const used = new Set(
      files.flatMap((file) => packagesImportedBy(file).map(({ name }) => `${name} in ${folderOf(file)}`)),
    );
    const unused = Object.entries(packageHomes).flatMap(([name, folders]) =>
      folders.map((folder) => `${name} in ${folder}`).filter((home) => !used.has(home)),
    );
    expect(unused).toEqual([]);
  });

  it('imports no private path of a package', () => {
    const wrong = files.flatMap((file) =>
      packagesImportedBy(file)
        .filter(({ name, subpath }) => subpath !== '.' && !isPublic(name, subpath))
        .map(({ name, subpath }) => `${file} imports ${name}${subpath.slice(1)}`),
    );
    expect(wrong).toEqual([]);
  });

  it('reads messages only where a foreign error has no code', () => {
    const readsMessage =
      /\b(message|msg|hint)\)?\s*\??\.(match|matchAll|split|replace|replaceAll|includes|startsWith|endsWith|indexOf|search)\(|\.(test|exec)\(\s*(\(?\w+( as \w+)?\)?\??\.)?(message|msg|hint)\b|\b(?<!typeof )(message|msg|hint)\)?\s*[!=]==\s*(['"`])(?!\8)/;
    expect(files.filter((file) => readsMessage.test(texts.get(file)!)).sort()).toEqual([
      // Commander's messages repeat values, which may be secrets.
      'cli/program.ts',
      // The parser of TOML has no codes.
      'client-setup/edit-toml.ts',
      // Its own hints name the base URL, which another setting may replace.
      'client/failures.ts',
      // Zod does not tell a missing member from one of another type.
      'contract/validation.ts',
      // RE2 writes where a message comes from in front of it.
      'core/linear-pattern.ts',
      // The pool of connections and the driver have no codes for these failures of their own.
      'service/storage/postgres/open-pool.ts',
      'service/storage/postgres/postgres-failure.ts',
      // The package for Node 20 does not always report SQLite's result code.
      'service/storage/sqlite/sqlite-connection.ts',
      // Each system's keychain has messages of its own.
      'settings/secrets/keychain-store.ts',
    ]);
  });

  it('has the results of the protocol only at its edges', () => {
    const ofProtocol = /structuredContent|CallToolResult/;
    expect(files.filter((file) => ofProtocol.test(texts.get(file)!)).sort()).toEqual([
      'board/view/shared/chat-host.ts',
      // The demo is a client of its own server.
      'cli/commands/demo/demo.ts',
      // Writes the results that the server sends.
      'mcp/message-json.ts',
      'mcp/server.ts',
    ]);
  });

  it('declares the type of a result by the schema of its tool alone', () => {
    const ofTools = files.filter((file) => /^tools.[a-z-]+\.ts$/.test(file) && !file.endsWith('index.ts'));
    expect(ofTools.filter((file) => !/= z\.output<typeof output>;/.test(texts.get(file)!))).toEqual([]);
    const declaresType = /^(?:export )?(?:interface|type) (\w*(?:Result|Page|Summary|Review|Item|Run|Field))\b/gm;
    const namesIn = (file: string): string[] => [...texts.get(file)!.matchAll(declaresType)].map((match) => match[1]!);
    expect(
      ofTools.filter((file) => /^(export )?interface \w*(Result|Page|Summary|Review)\b/m.test(texts.get(file)!)),
    ).toEqual([]);
    // A View takes these types from the room that has them.
    const others = new Set(files.filter((file) => folderOf(file) !== 'board').flatMap(namesIn));
    const copied = files.filter((file) => folderOf(file) === 'board' && namesIn(file).some((name) => others.has(name)));
    expect(copied).toEqual([]);
  });

  it('lets other work run in one way', () => {
    expect(files.filter((file) => texts.get(file)!.includes('setImmediate'))).toEqual(['core/turns.ts']);
  });

  it('uses the arguments, environment, streams, signals and exit of the process only where a command is given them', () => {
    const ofProcess = /process\.(argv|env|std(in|out|err)|exit|on|once|off)\b|homedir\(|console\./;
    expect(files.filter((file) => ofProcess.test(texts.get(file)!)).sort()).toEqual([
      'cli/invocation.ts',
      'cli/main.ts',
    ]);
  });
});

/** Tells whether a package lists a subpath in the `exports` of its package.json. */
function isPublic(name: string, subpath: string): boolean {
  const { exports = {} } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
  return Object.keys(exports).some((key) =>
    key.includes('*') ? subpath.startsWith(key.slice(0, key.indexOf('*'))) : key === subpath,
  );
}

describe('board', () => {
  it('imports only types from other rooms, besides the wording of results', () => {
    const statements = files
      .filter((file) => folderOf(file) === 'board')
      .flatMap((file) =>
        [...texts.get(file)!.matchAll(/^(import|export) [^;]*? from '((?:\.\.\/)+[^']+)';/gm)].map(
          (match) => [file, match] as const,
        ),
      );
    const fromOtherRooms = statements.filter(
      ([file, [, , to]]) => folderOf(relative(src, resolve(src, dirname(file), to!))) !== 'board',
    );
    expect(fromOtherRooms.length).toBeGreaterThan(0);
    const wrong = fromOtherRooms.filter(
      ([, [text, , to]]) => !text.startsWith('import type ') && !to!.endsWith('/evaluations/result-words.ts'),
    );
    expect(wrong.map(([file]) => file)).toEqual([]);
    expect(texts.get('evaluations/result-words.ts')!.match(/^import (?!type).*$/gm)).toEqual([
      "import { rounded } from '../core/statistics/rounded.ts';",
    ]);
  });
});

describe('contract', () => {
  it('imports zod and no other package', () => {
    const names = files.filter((file) => folderOf(file) === 'contract').flatMap(packagesImportedBy);
    expect([...new Set(names.map(({ name }) => name))]).toEqual(['zod']);
  });
});

describe('scripts/bundle-options.mjs', () => {
  it('replaces no module by another', () => {
    expect(readFileSync(join(root, 'scripts/bundle-options.mjs'), 'utf8')).not.toMatch(/\balias\b/);
  });
});
