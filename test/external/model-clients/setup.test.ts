import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectClient } from '../../support/client.ts';
import { command, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { startHttp } from '../../support/http-server.ts';
import { installedPath, type Ran, runTool } from '../../support/outside-programs.ts';
import {
  claudeCode,
  claudeEnvironment,
  codex,
  copilotCli,
  geminiCli,
  type ModelClient,
  opencode,
  opencodeFolder,
} from './clients.ts';
import { startModelApi } from './model-api.ts';

const token = '0123456789abcdef0123456789abcdef';
const node24 = installedPath('node-versions', 'node-24/bin/node');
const sentence = 'this server has no OAuth login, it takes one bearer token: set the header Authorization';

/** Returns a function that runs a client in a home, without a network, and one that runs `heddle setup` there. */
function clientHome(client: ModelClient) {
  const home = temporaryFolder();
  const work = join(home, 'work');
  mkdirSync(work);
  if (client === opencode) opencodeFolder(home);
  const quiet = {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1',
  };
  const [file, ...first] = client.program!;
  return {
    home,
    runClient: (args: string[], environment: Record<string, string>): Promise<Ran> =>
      runTool(file!, [...first, ...args], emptyHome(home, { ...quiet, ...environment }), work),
    setup: async (...args: string[]): Promise<void> => {
      const { code, stderr } = await run(['setup', ...args, '--yes'], emptyHome(home));
      expect(code, stderr).toBe(0);
    },
  };
}

describe.each([
  ['claude-code', claudeCode, [/^heddle: .* ✔ Connected$/m, /^over-http: .* ✔ Connected$/m]],
  ['codex', codex, [/^heddle +\S+ .* enabled /m, /^over-http .* HEDDLE_HTTP_TOKEN .* Bearer token/m]],
  ['gemini-cli', geminiCli, [/^. heddle: .* - Connected$/m, /^. over-http: .* - Connected$/m]],
  ['opencode', opencode, [/✓ heddle .*connected/, /✓ over-http .*connected/]],
  ['copilot-cli', copilotCli, [/^ {2}heddle \(local\)$/m, /^ {2}over-http \(http\)$/m]],
])('the entries of heddle setup %s', (name, client, lines) => {
  it.skipIf(!client.program)('are read by the client, over stdio and over HTTP with a token', async () => {
    const { url } = await startHttp([], { HEDDLE_HTTP_TOKEN: token });
    const { runClient, setup } = clientHome(client);
    await setup(name);
    await setup(name, '--name', 'over-http', '--url', url, '--token-env', 'HEDDLE_HTTP_TOKEN');
    const { stdout, stderr } = await runClient(['mcp', 'list'], { HEDDLE_HTTP_TOKEN: token });
    for (const line of lines) expect(stdout + stderr).toMatch(line);
  });
});

describe('a client without the token of a server', () => {
  it.skipIf(!claudeCode.program)('shows in Claude Code that the server takes a bearer token', async () => {
    const { url } = await startHttp([], { HEDDLE_HTTP_TOKEN: token });
    const { runClient, setup } = clientHome(claudeCode);
    await setup('claude-code', '--url', url);
    await setup('claude-code', '--name', 'wrong', '--url', url, '--token-env', 'HEDDLE_HTTP_TOKEN');
    for (const entry of ['heddle', 'wrong']) {
      const { stdout } = await runClient(['mcp', 'get', entry], { HEDDLE_HTTP_TOKEN: 'wrong' });
      expect(stdout, entry).toContain('Failed to connect');
      expect(stdout, entry).toContain(sentence);
    }
  });

  const mcporter = installedPath('mcp', 'mcporter/dist/cli.js');
  it.skipIf(!mcporter || !node24)('shows in mcporter that the server takes a bearer token', async () => {
    const { url } = await startHttp([], { HEDDLE_HTTP_TOKEN: token });
    const folder = temporaryFolder();
    const file = join(folder, 'mcporter.json');
    const headers = { Authorization: `Bearer ${token}` };
    const local = { command: process.execPath, args: [command, 'serve'], env: emptyHome(folder) };
    const mcpServers = { heddle: local, remote: { url, headers }, bare: { url } };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    const listQueues = (server: string): Promise<Ran> => {
      const args = [mcporter!, '--config', file, 'call', `${server}.list_queues`];
      return runTool(node24!, args, emptyHome(folder), folder);
    };
    const [stdio, http, bare] = await Promise.all(['heddle', 'remote', 'bare'].map(listQueues));
    // mcporter prints the structured form of a result.
    for (const { stdout, stderr } of [stdio!, http!]) {
      expect(JSON.parse(stdout), stderr).toMatchObject({ queues: [{ id: 'support-triage' }] });
    }
    expect(bare!.code).toBe(1);
    expect(bare!.stderr).toContain(sentence);
  });
});

describe('a new user', () => {
  it.skipIf(!claudeCode.program)('judges a queue in Claude Code after heddle setup', async () => {
    const { home, runClient, setup } = clientHome(claudeCode);
    await setup('claude-code');

    const api = await startModelApi(claudeCode.protocol, [
      () => ({ tool: 'list_queues', args: {} }),
      ([queues]) => {
        const [{ id }] = JSON.parse(queues!.text).queues;
        const filter = { annotation_states: ['unstarted'] };
        return { tool: 'query_queue_items', args: { queue_id: id, filter, include_call: true } };
      },
      ([queues, page]) => {
        const [{ id, fields }] = JSON.parse(queues!.text).queues;
        const { items, as_of } = JSON.parse(page!.text);
        const judged = items.map((item: { id: string }) => ({
          item_id: item.id,
          judgements: { [fields[0].name]: true },
          annotation_state: 'completed',
        }));
        return { tool: 'update_queue_items', args: { queue_id: id, items: judged, as_of } };
      },
    ]);
    const asked = ['--print', 'Judge my queue.', '--allowedTools', 'mcp__heddle'];
    const { code, stdout, stderr } = await runClient(asked, claudeEnvironment(api));
    expect([code, stdout], stderr).toEqual([0, 'Done.\n']);

    const { call } = await connectClient(emptyHome(home));
    const judged = await call('query_queue_items', {
      queue_id: 'support-triage',
      filter: { field: 'helpful', value: true },
      fields: ['call_id', 'annotation_state'],
    });
    expect(judged).toMatchObject({ state_counts: { completed: 7 } });
    const unstarted = { queue_id: 'support-triage', filter: { annotation_states: ['unstarted'] } };
    expect((await call('query_queue_items', unstarted)).items).toEqual([]);
  });
});
