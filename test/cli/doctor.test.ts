import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { execute } from '../support/embedded-service.ts';
import { sendGoodResponse, sendResponse, startFakeService } from '../support/fake-service.ts';
import { freePort } from '../support/free-port.ts';
import { call, command, emptyHome, run, standIn, temporaryFolder } from '../support/heddle.ts';
import { selfSigned } from '../support/self-signed.ts';

// biome-ignore lint/suspicious/noTemplateCurlyInString: a host leaves exactly this for a field that is not filled in
const placeholder = '${user_config.secret}';

/** Node 20 works, but gets no security fixes. */
const nodeState: Record<string, string> = Number.parseInt(process.versions.node, 10) >= 22 ? {} : { Node: 'warning' };

interface Finding {
  check: string;
  state: string;
  message: string;
  advice?: string;
}

/** Runs `heddle doctor`, with a stand-in as its keychain helper and its MCP server by default. */
async function examine(
  environment: Record<string, string>,
  script = standIn,
): Promise<{ code: number | null; findings: Finding[]; states: Record<string, string> }> {
  const { code, stdout } = await run(['doctor', '--json'], environment, '', script);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings, states: Object.fromEntries(findings.map(({ check, state }) => [check, state])) };
}

const right = { username: 'mia', password: 'correct-horse', token: 'tok-11112222' };
const secrets = { HEDDLE_USERNAME: 'mia', HEDDLE_PASSWORD: 'correct-horse', HEDDLE_TOKEN: 'tok-11112222' };

describe('heddle doctor', () => {
  it('reports no failure with the embedded service', async () => {
    const environment = emptyHome(temporaryFolder());
    await call('query_queue_items', { queue_id: 'support-triage' }, environment);
    const { code, findings, states } = await examine(environment, command);
    expect(states).toEqual({
      version: 'ok',
      ...nodeState,
      configuration: 'ok',
      keychain: 'ok',
      'data file': 'ok',
      'disk space': 'ok',
      MCP: 'ok',
    });
    expect(findings.find(({ check }) => check === 'keychain')?.message).not.toContain('onnect');
    expect(findings.find(({ check }) => check === 'data file')?.message).toMatch(/heddle\.db is sound$/);
    expect(findings.find(({ check }) => check === 'MCP')?.message).toMatch(/, protocol \d{4}-\d\d-\d\d, \d+ tools$/);
    expect(code).toBe(0);
  });

  it('checks the entries and plugins of clients', async () => {
    const home = temporaryFolder();
    const environment = emptyHome(home);
    const write = (file: string, text: string) => {
      mkdirSync(dirname(join(home, file)), { recursive: true });
      writeFileSync(join(home, file), text);
    };
    const entry = { command: process.execPath, args: ['/nowhere/heddle.js', 'serve'] };
    write('.cursor/mcp.json', JSON.stringify({ mcpServers: { heddle: entry } }));
    write('.claude/settings.json', '{"enabledPlugins":{"heddle@heddle":true}}');
    write(
      '.codex/config.toml',
      `[mcp_servers.heddle]\ncommand = "${process.execPath}"\nargs = ["${standIn}"]\n[plugins."heddle@heddle"]\nenabled = true\n`,
    );
    const nothing = `http://127.0.0.1:${await freePort()}/mcp`;
    write('.gemini/settings.json', JSON.stringify({ mcpServers: { heddle: { httpUrl: nothing } } }));
    write('.copilot/mcp-config.json', '{"mcpServers":');
    const { findings, code } = await examine(environment);
    const ofClients = findings.filter(({ check }) => check === 'clients');
    expect(ofClients.map(({ state, message }) => [state, message.replaceAll(home, '~')])).toEqual([
      ['ok', 'Claude Code starts heddle as a plugin'],
      ['failure', 'Cursor cannot use heddle in ~/.cursor/mcp.json: /nowhere/heddle.js does not exist'],
      ['warning', 'Codex has heddle twice: as a plugin, and in ~/.codex/config.toml'],
      ['failure', expect.stringMatching(/^Gemini CLI cannot use heddle in ~\/.gemini\/settings.json: .*ECONNREFUSED/)],
      ['warning', expect.stringMatching(/^GitHub Copilot CLI: /)],
    ]);
    expect(ofClients[1]!.advice).toBe('Run `heddle setup cursor` again with settings that work.');
    expect(code).toBe(1);
  });

  it('checks the entries of projects, and names a plugin or another entry beside one', async () => {
    const home = temporaryFolder();
    const project = join(home, 'work');
    const write = (file: string, value: object) => {
      mkdirSync(dirname(join(home, file)), { recursive: true });
      writeFileSync(join(home, file), JSON.stringify(value));
    };
    const broken = { command: process.execPath, args: ['/nowhere/heddle.js'] };
    const works = { command: process.execPath, args: [command, 'serve'] };
    write('work/.mcp.json', { mcpServers: { heddle: broken } });
    write('work/.cursor/mcp.json', { mcpServers: { heddle: broken } });
    write('.claude.json', { projects: { '/elsewhere': { mcpServers: { heddle: broken } }, '/other': {} } });
    write('.claude/settings.json', { enabledPlugins: { 'heddle@heddle': true } });
    write('.gemini/settings.json', { mcpServers: { heddle: works, again: works } });
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(project);
    const { findings } = await examine(emptyHome(home)).finally(() => cwd.mockRestore());
    const ofClients = findings.filter(({ check }) => check === 'clients');
    expect(ofClients.map(({ message, advice }) => [message.replaceAll(home, '~'), advice])).toEqual([
      [
        'Claude Code cannot use heddle in ~/work/.mcp.json: /nowhere/heddle.js does not exist; it starts heddle as a plugin too',
        'Keep the plugin and remove this entry.',
      ],
      [
        'Claude Code cannot use heddle for /elsewhere in ~/.claude.json: /nowhere/heddle.js does not exist; it starts heddle as a plugin too',
        'Keep the plugin and remove this entry.',
      ],
      [
        'Cursor cannot use heddle in ~/work/.cursor/mcp.json: /nowhere/heddle.js does not exist',
        'Correct this entry, or remove it.',
      ],
      ['Gemini CLI has heddle in ~/.gemini/settings.json', undefined],
      [
        'Gemini CLI has heddle twice: in ~/.gemini/settings.json, and as "again" in ~/.gemini/settings.json',
        'Keep the first and run `heddle setup gemini-cli --name again --remove`.',
      ],
    ]);
  });

  it('starts the entries of clients with their settings, whatever the entry is named', async () => {
    const home = temporaryFolder();
    const environment = emptyHome(home);
    await call('list_queues', {}, environment);
    const setup = (client: string, ...flags: string[]) =>
      run(['setup', client, '--yes', ...flags], { ...environment, HEDDLE_PROJECT: '' });
    await setup('cursor', '--project', 'nosuch/project');
    await setup('claude-code', '--profile', 'work');
    await setup('codex', '--name', 'other');
    writeFileSync(join(home, 'file'), '');
    await setup('windsurf', '--data-dir', join(home, 'file', 'data'));
    const { findings } = await examine(environment);
    const ofClients = findings.filter(({ check }) => check === 'clients');
    expect(ofClients.map(({ message }) => message.replaceAll(home, '~'))).toEqual([
      'Claude Code cannot use heddle in ~/.claude.json: --profile names a profile that does not exist.',
      'Cursor cannot use heddle in ~/.cursor/mcp.json: a call for the queues of nosuch/project failed: There is no project nosuch/project. The nearest projects are demo/support. Pass one of them with --project.',
      'Codex has heddle as "other" in ~/.codex/config.toml',
      'Windsurf cannot use heddle in ~/.codeium/windsurf/mcp_config.json: ~/file/data/heddle.db cannot be created: ~/file takes no new files (ENOTDIR)',
    ]);
  });

  it('calls a tool as clients do, which names a project that does not exist', async () => {
    const environment = emptyHome(temporaryFolder());
    await call('list_queues', {}, environment);
    const { stdout } = await run(['doctor', '--json', '--project', 'a/b'], environment);
    expect(JSON.parse(stdout).findings.at(-1)).toMatchObject({
      state: 'failure',
      message: expect.stringContaining('a call for the queues of a/b failed: There is no project a/b.'),
    });
  });

  it.skipIf(nodeState.Node === undefined)('warns of a Node version that no longer gets security fixes', async () => {
    const { findings } = await examine(emptyHome(temporaryFolder()));
    expect(findings.find(({ check }) => check === 'Node')).toEqual({
      check: 'Node',
      state: 'warning',
      message: `Node ${process.versions.node} is out of support: it gets no security fixes since April 2026`,
      advice:
        'Install Node 22 or 24. Only this version needs the package @photostructure/sqlite for the embedded service.',
    });
  });

  it('creates no data file', async () => {
    const folder = temporaryFolder();
    const { code, findings } = await examine(emptyHome(folder, { HEDDLE_DATA_DIR: join(folder, 'data') }));
    expect(code).toBe(0);
    expect(findings.find(({ check }) => check === 'data file')).toEqual({
      check: 'data file',
      state: 'ok',
      message: `${join(folder, 'data', 'heddle.db')} will be created at the first call`,
    });
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('warns of a data file without tables, and leaves it as it is', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'heddle.db');
    writeFileSync(file, '');
    const { code, findings } = await examine(emptyHome(folder, { HEDDLE_DATA_DIR: folder }));
    expect(code).toBe(0);
    expect(findings.find(({ check }) => check === 'data file')).toEqual({
      check: 'data file',
      state: 'warning',
      message: `${file} is empty; its tables will be created at the first call`,
      advice: 'If heddle has stored anything there, restore a backup.',
    });
    expect(readFileSync(file)).toHaveLength(0);
  });

  it('fails for a data file that lacks a table, and for one that is a folder', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder, { HEDDLE_DATA_DIR: join(folder, 'data') });
    await call('query_queue_items', { queue_id: 'support-triage' }, environment);
    const file = join(folder, 'data', 'heddle.db');
    await execute(file, 'drop table feedback');
    const lacking = await examine(environment);
    expect(lacking.code).toBe(1);
    expect(lacking.findings.find(({ check }) => check === 'data file')).toMatchObject({
      state: 'failure',
      message: `${file} is damaged: table feedback is missing`,
    });
    rmSync(file);
    mkdirSync(file);
    const folderInstead = await examine(environment);
    expect(folderInstead.code).toBe(1);
    expect(folderInstead.findings.find(({ check }) => check === 'data file')).toMatchObject({
      state: 'failure',
      message: `The data file ${file} cannot be used: it is a folder.`,
      advice: 'Move it away, or set HEDDLE_DATA_DIR to another folder.',
    });
  });

  it('reports each network layer, the clock and each operation of a remote service', async () => {
    const service = await startFakeService({ credentials: right });
    const { code, states } = await examine(
      emptyHome(temporaryFolder(), {
        HEDDLE_BASE_URL: service.url.replace('127.0.0.1', 'localhost'),
        HEDDLE_PROJECT: 'a/b',
        ...secrets,
      }),
    );
    expect(states).toEqual({
      version: 'ok',
      ...nodeState,
      configuration: 'ok',
      keychain: 'ok',
      credentials: 'ok',
      TCP: 'ok',
      HTTP: 'ok',
      clock: 'ok',
      'query_queue_items (Basic)': 'ok',
      'create_evaluation (Basic)': 'ok',
      'run_inference (Bearer)': 'ok',
      MCP: 'ok',
    });
    expect(code).toBe(0);
  });

  describe('with a separate inference URL', () => {
    async function examineBoth(inferenceUrl: string, extra: Record<string, string> = {}) {
      const service = await startFakeService({ credentials: right });
      const report = await examine(
        emptyHome(temporaryFolder(), {
          HEDDLE_BASE_URL: service.url,
          HEDDLE_INFERENCE_URL: inferenceUrl,
          HEDDLE_PROJECT: 'team/app',
          ...secrets,
          ...extra,
        }),
      );
      const messageOf = (name: string) => report.findings.find(({ check }) => check === name)?.message;
      return { ...report, service, messageOf };
    }

    it('checks the network and the token for inference', async () => {
      const inference = await startFakeService({ credentials: right });
      const { code, states, findings, service, messageOf } = await examineBoth(`${inference.url}/v1`);
      expect(states).toEqual({
        version: 'ok',
        ...nodeState,
        configuration: 'ok',
        keychain: 'ok',
        credentials: 'ok',
        TCP: 'ok',
        HTTP: 'ok',
        clock: 'ok',
        'inference TCP': 'ok',
        'inference HTTP': 'ok',
        'inference clock': 'ok',
        'query_queue_items (Basic)': 'ok',
        'create_evaluation (Basic)': 'ok',
        'run_inference (Bearer)': 'ok',
        MCP: 'ok',
      });
      expect(messageOf('run_inference (Bearer)')).toBe(`${inference.url}/v1 accepts the credentials`);
      expect(findings.map(({ message }) => message)).toContain(
        `the service is ${service.url}, its inference is ${inference.url}/v1`,
      );
      expect(inference.requestLines()).toEqual(['GET /v1 -', 'GET /v1/models Bearer tok-11112222']);
      expect(service.requestLines().join('\n')).not.toContain('Bearer');
      expect(code).toBe(0);
    });

    it('reports that inference cannot be reached, and checks the rest of the service', async () => {
      const { code, states, findings } = await examineBoth(`http://127.0.0.1:${await freePort()}/v1`);
      expect(states).toMatchObject({ TCP: 'ok', 'inference TCP': 'failure', 'query_queue_items (Basic)': 'ok' });
      expect(states).not.toHaveProperty('run_inference (Bearer)');
      expect(findings.find(({ check }) => check === 'inference TCP')?.advice).toBe(
        'Check that the service runs (`heddle service start` if it is one of heddle), the port in the inference URL, and firewalls between here and there.',
      );
      expect(code).toBe(1);
    });

    it('checks inference while the rest of the service cannot be reached', async () => {
      const inference = await startFakeService({ credentials: right });
      const { states } = await examineBoth(`${inference.url}/v1`, { HEDDLE_BASE_URL: 'http://127.0.0.1:9' });
      expect(states).toMatchObject({ TCP: 'failure', 'inference HTTP': 'ok', 'run_inference (Bearer)': 'ok' });
      expect(states).not.toHaveProperty('query_queue_items (Basic)');
    });

    it('names the address that rejects the token, without repeating the token', async () => {
      const inference = await startFakeService({ credentials: { ...right, token: 'another-token' } });
      const { code, states, findings, messageOf } = await examineBoth(`${inference.url}/v1`);
      expect(states).toMatchObject({ 'query_queue_items (Basic)': 'ok', 'run_inference (Bearer)': 'failure' });
      expect(messageOf('run_inference (Bearer)')).toBe(
        `The service rejected the credentials (Bearer), status 401, on GET /v1/models: "401 Error". Inference is at ${inference.url}/v1.`,
      );
      expect(JSON.stringify(findings)).not.toContain('tok-11112222');
      expect(code).toBe(1);
    });

    it('fails for an address that is not an API', async () => {
      const page = await startFakeService();
      page.respond = (request) => sendResponse(request, 404, '<h1>Not here</h1>', { 'content-type': 'text/html' });
      const { code, findings } = await examineBoth(`${page.url}/v1`);
      expect(findings.find(({ check }) => check === 'operations')).toEqual({
        check: 'operations',
        state: 'failure',
        message: `${page.url}/v1 has none of the operations that were tried`,
        advice:
          'Check the path of the inference URL: something responds at this address, but not the API of the service.',
      });
      expect(code).toBe(1);
    });
  });

  it('distinguishes a rejected secret, a wrong clock and an unfilled placeholder', async () => {
    const service = await startFakeService({ credentials: right });
    const anHourAgo = new Date(Date.now() - 3_600_000).toUTCString();
    service.respond = (request) => {
      if (request.headers.authorization?.includes('tok-wrong-one')) service.respondNormally(request);
      else sendGoodResponse(request, { date: anHourAgo });
    };
    const { code, findings } = await examine(
      emptyHome(temporaryFolder(), {
        ...secrets,
        HEDDLE_BASE_URL: service.url,
        HEDDLE_PROJECT: 'a/b',
        HEDDLE_TOKEN: 'tok-wrong-one',
        HEDDLE_MODEL_PROVIDER_KEY: placeholder,
      }),
    );
    const worse = findings.filter(({ state, check }) => state !== 'ok' && check !== 'Node');
    expect(worse.map(({ check, state }) => [check, state])).toEqual([
      ['configuration', 'warning'],
      ['clock', 'warning'],
      ['run_inference (Bearer)', 'failure'],
    ]);
    expect(worse[0]?.message).toContain('HEDDLE_MODEL_PROVIDER_KEY holds an unfilled placeholder');
    expect(worse[1]?.message).toMatch(/^360\d s ahead of the service's$/);
    expect(worse[2]?.message).toContain('The service rejected the credentials (Bearer), status 401');
    expect(worse.every(({ advice }) => advice)).toBe(true);
    expect(JSON.stringify(findings)).not.toContain('tok-wrong-one');
    expect(code).toBe(1);
  });

  it('stops at the first network layer that fails', async () => {
    const unresolved = await examine(
      emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: 'http://no.such.host.invalid', ...secrets }),
    );
    expect(unresolved.states).toMatchObject({ DNS: 'failure', MCP: 'ok' });
    expect(unresolved.states).not.toHaveProperty('TCP');

    const refused = await examine(
      emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: `http://127.0.0.1:${await freePort()}`, ...secrets }),
    );
    expect(refused.states).toMatchObject({ TCP: 'failure' });
    expect(refused.states).not.toHaveProperty('HTTP');

    // This server waits for the end of the TLS handshake, which it takes for an HTTP request.
    const service = await startFakeService({ credentials: right });
    const plain = await examine(
      emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: service.url.replace('http:', 'https:'), ...secrets }),
    );
    expect(plain.states).toMatchObject({ connection: 'failure' });
    expect(plain.states).not.toHaveProperty('HTTP');

    const untrusted = await startFakeService({ certificate: selfSigned });
    const distrusted = await examine(emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: untrusted.url, ...secrets }));
    expect(distrusted.findings.find(({ check }) => check === 'TLS')).toEqual({
      check: 'TLS',
      state: 'failure',
      message: expect.stringMatching(/self-signed certificate/),
      advice:
        'Check the base URL. For a private certificate authority, set NODE_EXTRA_CA_CERTS where heddle is started.',
    });
    expect(untrusted.requests).toEqual([]);

    const mute = await startFakeService();
    mute.onConnection = (socket) => socket.destroy();
    const muted = await examine(
      emptyHome(temporaryFolder(), {
        HEDDLE_BASE_URL: mute.url,
        ...secrets,
      }),
    );
    expect(muted.states).toMatchObject({ TCP: 'ok', HTTP: 'failure' });
  });

  it('gives advice for missing credentials and a damaged data file', async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, 'heddle'));
    writeFileSync(
      join(home, 'heddle', 'heddle.db'),
      'this was never a database, and it is long enough to be read as one',
    );
    const { code, findings } = await examine(
      emptyHome(home, { HEDDLE_BASE_URL: 'http://127.0.0.1:1', HEDDLE_PROJECT: 'a/b' }),
    );
    const failed = findings.filter(({ state }) => state === 'failure');
    expect(failed.map(({ check }) => check)).toEqual(['credentials', 'credentials', 'TCP', 'data file']);
    expect(failed[0]?.advice).toBe('Run `heddle login`, or set HEDDLE_PASSWORD.');
    expect(failed.every(({ advice }) => advice)).toBe(true);
    expect(code).toBe(1);
  });

  it('fails for an address without any operation, and for a data folder that cannot be created', async () => {
    const page = await startFakeService();
    page.respond = (request) => sendResponse(request, 404, '<h1>Not here</h1>', { 'content-type': 'text/html' });
    const url = `${page.url}/api`;
    const folder = temporaryFolder();
    const home = emptyHome(folder, { HEDDLE_BASE_URL: url, HEDDLE_PROJECT: 'a/b', ...secrets });
    const elsewhere = await examine(home);
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.states).toMatchObject({ operations: 'failure', HTTP: 'ok' });
    const login = await run(
      ['login', '--base-url', url, '--username', 'mia', '--store', 'file', '--password-stdin', '--token-stdin'],
      emptyHome(folder),
      'correct-horse\ntok-11112222\n',
    );
    expect(login).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was stored') });

    writeFileSync(join(folder, 'file'), '');
    const nowhere = await examine(emptyHome(folder, { HEDDLE_DATA_DIR: join(folder, 'file', 'data') }));
    expect(nowhere.code).toBe(1);
    expect(nowhere.states).toMatchObject({ 'data file': 'failure' });
  });

  it('reports an invalid setting as a finding', async () => {
    const { code, findings } = await examine(emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: 'service.example' }));
    expect(code).toBe(2);
    expect(findings.map(({ check, state }) => [check, state])).toEqual([
      ['version', 'ok'],
      ...Object.entries(nodeState),
      ['configuration', 'failure'],
    ]);
  });

  it('reports an inference URL without a base URL', async () => {
    const environment = emptyHome(temporaryFolder(), { HEDDLE_INFERENCE_URL: 'https://llm.example/v1' });
    const { code, findings } = await examine(environment);
    expect(code).toBe(2);
    expect(findings.at(-1)).toEqual({
      check: 'configuration',
      state: 'failure',
      message: 'HEDDLE_INFERENCE_URL is set, but no base URL is: the embedded service runs inference itself.',
      advice:
        'Set HEDDLE_BASE_URL too, or remove HEDDLE_INFERENCE_URL. HEDDLE_MODEL_PROVIDER_URL lets the embedded service forward inference to an API.',
    });
  });

  it('checks the model provider, and fails if it cannot be reached or rejects the key', async () => {
    const environment = emptyHome(temporaryFolder());
    const provider = await startFakeService();
    const found = async (url: string, key = 'provider-key-1234') => {
      const settings = { ...environment, HEDDLE_MODEL_PROVIDER_URL: url, HEDDLE_MODEL_PROVIDER_KEY: key };
      const { code, findings } = await examine(settings);
      expect(JSON.stringify(findings)).not.toContain(key);
      return [code, findings.find(({ check }) => check === 'model provider')];
    };
    provider.respond = (request) =>
      request.headers.authorization === 'Bearer provider-key-1234'
        ? sendResponse(request, 200, { data: [{ id: 'm1' }, { id: 'm2' }] })
        : sendResponse(request, 401, {});
    const url = `${provider.url}/v1`;
    expect(await found(url)).toEqual([0, { check: 'model provider', state: 'ok', message: `${url} has 2 models` }]);
    expect(await found(url, 'another-key-1234')).toMatchObject([
      1,
      { state: 'failure', message: `${url} rejects the key (status 401)` },
    ]);
    const dead = `http://127.0.0.1:${await freePort()}/v1`;
    expect(await found(dead)).toMatchObject([
      1,
      { state: 'failure', message: expect.stringContaining('cannot be reached') },
    ]);
    provider.respond = (request) => sendResponse(request, 404, {});
    expect(await found(url)).toMatchObject([0, { state: 'warning' }]);
  });
});
