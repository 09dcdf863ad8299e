import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { unzipSync } from 'fflate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { packTarball } from '../../support/pack-tarball.ts';

const root = join(import.meta.dirname, '../../..');
/** Half of it is the native package for the keychain. */
const maxInstalledBytes = 7_500_000;
const otherNodes = ['22', '24'].flatMap((version) => installedPath('node-versions', `node-${version}/bin/node`) ?? []);

/** Returns the settings with which this machine reaches the npm registry, and no others. */
function network(): Record<string, string> {
  const names = [
    'NODE_EXTRA_CA_CERTS',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'no_proxy',
  ];
  const kept = names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const settings = ['registry', 'cafile'].flatMap((name) => {
    const value = execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', stdio: 'pipe' }).trim();
    return value === 'null' ? [] : [[`npm_config_${name}`, value]];
  });
  return Object.fromEntries([...kept, ...settings]);
}

/** Returns what users of Node 20 install with heddle, as docs/service.md tells them. */
function sqliteFor(version: string): string {
  return version.startsWith('v20.') ? ' @photostructure/sqlite' : '';
}

/** Returns the paths of all files in a folder. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort();
}

const packed = temporaryFolder();
const tarball = packTarball(packed);
const bundle = execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs'), packed], { encoding: 'utf8' }).trim();

describe.each(
  [process.execPath, ...otherNodes].map((node) => [
    execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(),
    node,
  ]),
)('heddle on Node %s', (version, node) => {
  /** Creates an empty home with only this Node and npm, and a function that runs what a user types there. */
  function machine() {
    const folder = temporaryFolder();
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const npm = realpathSync(execFileSync('bash', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
    const program = (name: string, text: string): void =>
      writeFileSync(join(bin, name), `#!/bin/sh\nexec ${text} "$@"\n`, { mode: 0o755 });
    program('node', `"${node}"`);
    program('npm', `"${node}" "${npm}"`);
    const home = join(folder, 'home');
    mkdirSync(home);
    const env = {
      HOME: home,
      PATH: `${bin}:${home}/prefix/bin:/usr/bin:/bin`,
      npm_config_prefix: join(home, 'prefix'),
      npm_config_cache: join(folder, 'cache'),
      npm_config_update_notifier: 'false',
      ...network(),
    };
    let count = 0;
    const type = (command: string): string => {
      count += 1;
      return execFileSync('sh', ['-c', command], {
        timeout: 100_000,
        cwd: home,
        env,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    };
    return { home, type, typed: () => count };
  }

  it('installs from a tarball, does the three jobs, runs the demo, and uninstalls without leftovers', async () => {
    const { home, type, typed } = machine();
    const started = performance.now();

    type(`npm install --global --ignore-scripts --no-audit --no-fund ${tarball}${sqliteFor(version)}`);
    expect(type('heddle setup claude-desktop --yes')).toContain('Done.');
    const installed = join(home, 'prefix/lib/node_modules/heddle');
    const file = join(home, '.config/Claude/claude_desktop_config.json');
    const entry = JSON.parse(readFileSync(file, 'utf8')).mcpServers.heddle;
    expect(entry.args).toEqual([join(installed, 'dist/heddle.js'), 'serve']);

    // As the client does it: the entry alone, without the PATH of a shell.
    const client = new Client({ name: 'host', version: '1.0.0' });
    await client.connect(new StdioClientTransport({ ...entry, env: { HOME: home } }));
    const call = async (name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
      const result = await client.callTool({ name, arguments: args });
      expect(result.isError, JSON.stringify(result.content)).toBeFalsy();
      return result.structuredContent as Record<string, unknown>;
    };
    expect((await call('query_queue_items', { queue_id: 'support-triage', limit: 3 })).items).toHaveLength(3);
    const { response } = await call('run_inference', {
      model: 'heddle/echo',
      prompt: 'weave:///demo/support/object/triage:latest',
      template_vars: { product: 'the app', question: 'How do I export my data?' },
    });
    expect(JSON.stringify(response)).toContain('How do I export my data?');
    expect(
      await call('create_evaluation', {
        name: 'Support answers',
        dataset: 'weave:///demo/support/object/tickets:latest',
        scorers: ['weave:///demo/support/object/brief:latest'],
      }),
    ).toMatchObject({ object_id: 'support_answers', version_index: 0 });
    await client.close();
    const seconds = (performance.now() - started) / 1000;
    const commands = typed();

    const files = filesOf(join(home, 'prefix/lib/node_modules'));
    const bytes = files.reduce((sum, path) => sum + statSync(join(home, 'prefix/lib/node_modules', path)).size, 0);
    if (!version.startsWith('v20.')) expect(bytes).toBeLessThan(maxInstalledBytes);
    console.log(
      `${version}: ${commands} commands and ${seconds.toFixed(1)} s to the third job; ${files.length} files, ${(bytes / 1024 / 1024).toFixed(1)} MiB installed`,
    );

    expect(type('heddle demo')).toContain('Stored as version 0 of support_answers');
    type('heddle setup claude-desktop --remove --yes');
    type(`npm uninstall --global heddle${sqliteFor(version)}`);
    // Only the file that README names remains: the data of the embedded service.
    const left = filesOf(home).filter((path) => !/^\.npm\//.test(path));
    expect(new Set(left.map((path) => path.replace(/-(wal|shm)$/, '')))).toEqual(
      new Set(['.local/share/heddle/heddle.db']),
    );
  });

  it('runs from the bundle for Claude Desktop', async () => {
    const folder = temporaryFolder();
    for (const [path, content] of Object.entries(unzipSync(readFileSync(bundle)))) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const { args } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')).server.mcp_config;
    const client = new Client({ name: 'host', version: '1.0.0' });
    onTestFinished(() => client.close());
    await client.connect(
      new StdioClientTransport({
        command: node,
        args: args.map((text: string) => text.replace(/\$\{__dirname\}/, folder)),
        env: { HOME: temporaryFolder(), HEDDLE_BASE_URL: '', HEDDLE_TOKEN: ['$', '{user_config.token}'].join('') },
      }),
    );
    const { isError, content } = await client.callTool({ name: 'list_queues', arguments: {} });
    if (version.startsWith('v20.')) {
      expect(isError).toBe(true);
      expect(JSON.stringify(content)).toContain('Use Node 22.13 or later');
    } else {
      expect(JSON.stringify(content)).toContain('support-triage');
    }
  });
});
