import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { unzipSync } from 'fflate';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startFakeService } from '../../support/fake-service.ts';
import { emptyHome, runProcess, temporaryFolder } from '../../support/heddle.ts';

const root = join(import.meta.dirname, '../../..');
const mcpb = join(root, 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js');
const manifest = JSON.parse(readFileSync(join(root, 'manifest.json'), 'utf8'));

function bundle(folder: string, environment: Record<string, string> = {}): Buffer {
  const env = { ...process.env, ...environment };
  const file = execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs'), folder], { encoding: 'utf8', env });
  return readFileSync(file.trim());
}

let packed: Record<string, Uint8Array>;
let bytes: Buffer;
beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-mcpb-'));
  try {
    bytes = bundle(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
  packed = unzipSync(bytes);
});

function unpack(): string {
  const folder = temporaryFolder();
  for (const [path, content] of Object.entries(packed)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** Replaces placeholders like a host, which leaves those without a value. */
function filled(text: string, folder: string, values: Record<string, string>): string {
  return text.replaceAll(/\$\{(?:(__dirname)|user_config\.(\w+))\}/g, (whole, dir, key) =>
    dir ? folder : (values[key] ?? whole),
  );
}

async function connect(values: Record<string, string>): Promise<Client> {
  const folder = unpack();
  const { command, args, env } = manifest.server.mcp_config;
  expect(command).toBe('node');
  const client = new Client({ name: 'host', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: args.map((text: string) => filled(text, folder, values)),
      env: emptyHome(temporaryFolder(), {
        ...Object.fromEntries(
          Object.entries(env as Record<string, string>).map(([name, text]) => [name, filled(text, folder, values)]),
        ),
      }),
    }),
  );
  onTestFinished(() => client.close());
  return client;
}

describe('the MCP bundle', () => {
  it('reports a setting that cannot be used with exit code 2, without its value', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: 'http://host.example/?key=Zq7wKxV3pTn9' });
    const result = await runProcess(['serve'], environment, '', join(unpack(), manifest.server.entry_point));
    expect(result).toEqual({
      code: 2,
      stdout: '',
      stderr: 'heddle: HEDDLE_BASE_URL must not have a query or fragment.\nFix the value or remove it.\n',
    });
  });

  it('contains one file of code, an icon, and nothing native', () => {
    expect(Object.keys(packed).sort()).toEqual([
      'LICENSE',
      'README.md',
      'THIRD-PARTY-NOTICES.txt',
      'assets/icon.png',
      'manifest.json',
      'server/heddle.mjs',
    ]);
    const icon = Buffer.from(packed['assets/icon.png']!);
    expect([icon.toString('latin1', 1, 4), icon.readUInt32BE(16), icon.readUInt32BE(20)]).toEqual(['PNG', 512, 512]);
    expect(Buffer.from(packed['server/heddle.mjs']!).includes('.node"')).toBe(false);
    expect(bytes.length).toBeLessThan(1_200_000);
  });

  it('has the same bytes when packed in another time zone', () => {
    const hash = (data: Buffer): string => createHash('sha256').update(data).digest('hex');
    expect(hash(bundle(temporaryFolder(), { TZ: 'Pacific/Auckland' }))).toBe(hash(bytes));
  });

  it('passes mcpb validate and mcpb pack', () => {
    const folder = unpack();
    const pack = (...args: string[]): string => execFileSync(process.execPath, [mcpb, ...args], { encoding: 'utf8' });
    expect(pack('validate', join(root, 'manifest.json'))).toContain('passes');
    expect(pack('validate', join(folder, 'manifest.json'))).toContain('passes');
    const file = join(temporaryFolder(), 'packed.mcpb');
    pack('pack', folder, file);
    expect(existsSync(file)).toBe(true);
  });

  it('has its entry file, and a declaration and a default for every placeholder', () => {
    expect(packed[manifest.server.entry_point]).toBeDefined();
    const { args, env } = manifest.server.mcp_config;
    const used = [...JSON.stringify([args, env]).matchAll(/\$\{user_config\.(\w+)\}/g)].map(([, key]) => key);
    expect(used.sort()).toEqual(Object.keys(manifest.user_config).sort());
    expect(manifest.user_config).toMatchObject({
      base_url: { type: 'string', required: false, default: '' },
      project: { type: 'string', required: false, default: '' },
      username: { type: 'string', required: false, default: '' },
      password: { type: 'string', required: false, default: '', sensitive: true },
      token: { type: 'string', required: false, default: '', sensitive: true },
      read_only: { type: 'boolean', required: false, default: false },
    });
  });
});

describe.skipIf(isBuiltin('node:sqlite'))('the MCP bundle on Node 20', () => {
  it('warns at its start that the embedded service cannot run', async () => {
    const { code, stderr } = await runProcess(
      ['serve'],
      emptyHome(temporaryFolder()),
      '',
      join(unpack(), manifest.server.entry_point),
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /warn.* the embedded service cannot run node=20\S+ advice="Use Node 22.13 or later, keep the data on PostgreSQL \(HEDDLE_DATABASE_URL\), or install the package/,
    );
  });

  it('reports in heddle doctor that the embedded service cannot run', async () => {
    const { code, stdout } = await runProcess(
      ['doctor', '--table'],
      emptyHome(temporaryFolder()),
      '',
      join(unpack(), manifest.server.entry_point),
    );
    expect(code).toBe(1);
    expect(stdout).toContain('failure  data file: This version of Node has no node:sqlite');
    expect(stdout).toContain(
      'Use Node 22.13 or later, keep the data on PostgreSQL (HEDDLE_DATABASE_URL), or install the package',
    );
  });

  it('starts without a warning when a base URL is set', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: 'http://127.0.0.1:9' });
    const { stderr } = await runProcess(['serve'], environment, '', join(unpack(), manifest.server.entry_point));
    expect(stderr).toBe('');
  });
});

describe("the manifest's own command", () => {
  it('sends the credentials of the form to the base URL', async () => {
    const service = await startFakeService();
    const client = await connect({
      base_url: service.url,
      project: 'team/support',
      username: 'ada',
      password: 'opensesame',
      token: '',
      read_only: 'true',
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain('create_evaluation');
    const result = await client.callTool({ name: 'query_queue_items', arguments: { queue_id: 'q1' } });
    expect(result.isError).toBeFalsy();
    const basic = `Basic ${Buffer.from('ada:opensesame').toString('base64')}`;
    expect(service.requestLines()).toEqual([`POST /annotation_queues/q1/items/query ${basic}`]);
  });

  it.each([
    ['the defaults', { base_url: '', project: '', username: '', password: '', token: '', read_only: 'false' }],
    ['placeholders that the host did not replace', {}],
  ])('works on the embedded service with %s, or names the version of Node that it needs', async (_, values) => {
    const client = await connect(values as Record<string, string>);
    expect(client.getInstructions()).toContain('the embedded service on this machine');
    const result = await client.callTool({ name: 'list_queues', arguments: {} });
    const text = JSON.stringify(result.content);
    if (process.getBuiltinModule('node:sqlite')) {
      expect(text).toContain('support-triage');
    } else {
      expect(result.isError).toBe(true);
      expect(text).toContain('This version of Node has no node:sqlite');
      expect(text).toContain('Use Node 22.13 or later');
      // Before any call, to the model and in the log.
      expect(client.getInstructions()).toContain('tell the user: Use Node 22.13 or later');
    }
  });
});
