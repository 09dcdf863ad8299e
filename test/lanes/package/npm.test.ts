import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { packTarball } from '../../support/pack-tarball.ts';
import { skillNames } from '../../support/skill-names.ts';

const root = join(import.meta.dirname, '../../..');
let folder: string;
let tarball: string;
let installed: string;

/** Runs npm with an empty home, without network, scripts and optional packages. */
function npm(...args: string[]): string {
  const settings = [
    '--offline',
    '--ignore-scripts',
    '--omit=optional',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
  ];
  return execFileSync('npm', [...args, ...settings], {
    cwd: folder,
    encoding: 'utf8',
    env: emptyHome(folder),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-npm-'));
  tarball = packTarball(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  npm('install', tarball);
  installed = join(folder, 'node_modules/heddle');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the npm package', () => {
  it('contains the bundle, its types and its notices, and nothing else', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
      .filter((file) => statSync(join(installed, file)).isFile())
      .sort();
    const isOneOfMany = (file: string): boolean => file.startsWith('dist/chunks/') || file.startsWith('docs/');
    expect(files.filter((file) => !isOneOfMany(file))).toEqual([
      '.claude-plugin/marketplace.json',
      '.claude-plugin/plugin.json',
      '.codex-plugin/plugin.json',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'assets/icon.png',
      'dist/THIRD-PARTY-NOTICES.txt',
      'dist/heddle.js',
      'dist/index.d.ts',
      'dist/index.js',
      'gemini-extension.json',
      'llms.txt',
      'manifest.json',
      'mcp.json',
      'package.json',
      'plugin.json',
      ...skillNames.map((name) => `skills/${name}/SKILL.md`),
    ]);
    const bytes = files.reduce((sum, file) => sum + statSync(join(installed, file)).size, 0);
    console.log(
      `tarball: ${Math.round(statSync(tarball).size / 1024)} KiB; installed without optional packages: ${files.length} files, ${Math.round(bytes / 1024)} KiB`,
    );
    expect(statSync(tarball).size).toBeLessThan(1_300_000);
    expect(files.length).toBeLessThan(180);
    // With the native part of the keychain on Linux, 6 MB.
    expect(bytes).toBeLessThan(4_000_000);
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['heddle']);
  });

  it('has only optional dependencies and no scripts or development settings in its package.json', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(Object.keys(manifest)).toEqual([
      'name',
      'version',
      'description',
      'license',
      'author',
      'keywords',
      'mcpName',
      'type',
      'bin',
      'exports',
      'types',
      'files',
      'engines',
      'optionalDependencies',
      'peerDependencies',
      'peerDependenciesMeta',
    ]);
    expect(Object.keys(manifest.optionalDependencies)).toEqual(['@napi-rs/keyring']);
    expect(manifest.peerDependencies).toEqual({ '@photostructure/sqlite': '^1.2.1' });
    expect(manifest.peerDependenciesMeta).toEqual({ '@photostructure/sqlite': { optional: true } });
    expect(manifest.engines.node).toBe('>=20.18.1');
  });

  it('contains every file that README links', () => {
    const readme = readFileSync(join(installed, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\((?!https?:|[a-z]+:)([^)#]+)/g)].map(([, path]) => path!);
    expect(links).toContain('docs/tools.md');
    expect(links.filter((path) => !existsSync(join(installed, path)))).toEqual([]);
  });

  it('names bundled packages with their licences in its notices', () => {
    const notices = readFileSync(join(installed, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
    const names = [
      'zod',
      'undici',
      'hono',
      'kysely',
      'commander',
      '@modelcontextprotocol/server',
      'smol-toml',
      'preact',
      'commonmark',
      'diff',
    ];
    for (const name of names) {
      expect(notices).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\([\\w.-]+\\)$`, 'm'));
    }
    expect(notices).not.toContain('undefined');
  });

  it('installs a command that works', async () => {
    const heddle = join(folder, 'node_modules/.bin/heddle');
    const env = emptyHome(temporaryFolder());
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(execFileSync(heddle, ['--version'], { encoding: 'utf8', env })).toMatch(
      new RegExp(`^${version.replaceAll('.', '\\.')} \\([0-9a-f]{7}\\)\n$`),
    );
    expect(execFileSync(heddle, ['setup', 'cursor', '--print'], { encoding: 'utf8', env, stdio: 'pipe' })).toContain(
      JSON.stringify(join(installed, 'dist/heddle.js')),
    );
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StdioClientTransport({ command: heddle, args: [], env }));
    onTestFinished(() => client.close());
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('query_queue_items');
  });

  /** Compiles and runs a program in a folder with only heddle and the types of Node, and returns its output. */
  function program(name: string, text: string): string {
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
    writeFileSync(join(folder, `${name}.ts`), text);
    const tsc = join(root, 'node_modules/typescript/lib/tsc.js');
    const flags = [
      '--strict',
      '--target',
      'es2023',
      '--module',
      'nodenext',
      '--skipLibCheck',
      'false',
      '--types',
      'node',
    ];
    const roots = ['--typeRoots', join(root, 'node_modules/@types'), '--outDir', folder];
    execFileSync(process.execPath, [tsc, ...flags, ...roots, join(folder, `${name}.ts`), '--ignoreConfig'], {
      cwd: folder,
      stdio: 'pipe',
      encoding: 'utf8',
    });
    return execFileSync(process.execPath, [join(folder, `${name}.js`)], { encoding: 'utf8', env: emptyHome(folder) });
  }

  it('is a library that compiles without the bundled packages, and runs', () => {
    const out = program(
      'library',
      `import { contract, createClient, createServer, formatReference, HeddleError, parseReference, version } from 'heddle';
import type { QueryQueueItemsRequest, QueueItem, Transport } from 'heddle';

const body: QueryQueueItemsRequest = { project_id: 'team/support', filter: { annotation_states: ['unstarted'] }, limit: 5 };
const checked = await contract.queryQueueItems.request!['~standard'].validate({ ...body, limit: -1 });
console.log(version, contract.queryQueueItems.method, contract.queryQueueItems.path, checked.issues?.length);

const client = createClient({ baseUrl: 'http://127.0.0.1:9', username: 'ada', password: 'opensesame' });
try {
  const { items } = await client.call('queryQueueItems', { path: { queue_id: 'q1' }, body });
  const first: QueueItem | undefined = items[0];
  console.log(first?.annotation_state);
} catch (error) {
  if (!(error instanceof HeddleError)) throw error;
  const failure: HeddleError = error;
  console.log(failure.code, failure.retryable);
}
await client.close();

const sent: any[] = [];
let arrived = (): void => {};
const transport: Transport = {
  start: async () => {},
  send: async (message) => { sent.push(message); arrived(); },
  close: async () => transport.onclose?.(),
};
const logged: unknown[] = [];
const server = createServer({
  baseUrl: 'http://127.0.0.1:9',
  token: 't0ken-of-mine',
  readOnly: true,
  log: (level, message, fields) => logged.push([level, message, fields?.tool, fields?.code, typeof fields?.request_id]),
});
await server.connect(transport);
const ask = (message: object) => new Promise<void>((resolve) => { arrived = resolve; transport.onmessage?.({ jsonrpc: '2.0', ...message }); });
await ask({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'p', version: '1' } } });
await ask({ id: 2, method: 'tools/list' });
const names: string[] = sent[1].result.tools.map((tool: { name: string }) => tool.name);
console.log(sent[0].result.serverInfo.name, names.includes('list_queues'), names.includes('create_evaluation'));
await ask({ id: 3, method: 'tools/call', params: { name: 'list_queues', arguments: {} } });
console.log(JSON.stringify(logged.at(-1)));
await server.close();

console.log(formatReference(parseReference('weave:///team/support/object/triage:latest')!));
`,
    );
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(out.trim().split('\n')).toEqual([
      `${version} POST /annotation_queues/{queue_id}/items/query 1`,
      'network true',
      'heddle true false',
      '["info","call ended","list_queues","invalid_arguments","string"]',
      'weave:///team/support/object/triage:latest',
    ]);
  });

  it('leaves nothing behind when it is uninstalled', () => {
    npm('uninstall', 'heddle');
    expect(existsSync(installed)).toBe(false);
    expect(existsSync(join(folder, 'node_modules/.bin/heddle'))).toBe(false);
  });
});
