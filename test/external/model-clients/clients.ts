import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { command, emptyHome } from '../../support/heddle.ts';
import { runTool } from '../../support/outside-programs.ts';
import { installCommand, requireProgram } from '../../support/require-program.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import { type ModelApi, type ModelInput, type ModelProtocol, startModelApi, type Turn } from './model-api.ts';
import { openaiResponses } from './openai-responses.ts';

const modules = fileURLToPath(new URL('../packages/model-clients/node_modules/', import.meta.url));

/** Returns the path of a program's script in the suite's packages; undefined if it is not installed. */
function installedScript(name: string, path: string): string | undefined {
  return requireProgram(name, modules + path, installCommand('model-clients')) ? modules + path : undefined;
}

export interface ConversationOptions {
  /** Settings of heddle. */
  settings?: Record<string, string>;
  /** True to have the definitions of all tools in the first request, which neither client does by default. */
  listsTools?: boolean;
  /** True to use a model that the client has no description of. */
  isUnknownModel?: boolean;
}

/** A client with a model of its own. */
export interface ModelClient {
  title: string;
  /** Script that starts the client; undefined if it is not installed. */
  script: string | undefined;
  protocol: ModelProtocol;
  /** Writes the client's configuration into its home, and returns how to start it there. */
  configure: (
    home: string,
    api: ModelApi,
    options: ConversationOptions,
  ) => { args: string[]; environment: Record<string, string> };
}

/** Returns heddle's entry in a client's configuration. */
function serverEntry(home: string, settings: Record<string, string> = {}) {
  return { command: process.execPath, args: [command, 'serve'], env: emptyHome(home, settings) };
}

const prompt = 'Judge what waits in the queue.';

export const claudeCode: ModelClient = {
  title: 'Claude Code',
  script: installedScript('Claude Code', '@anthropic-ai/claude-code/cli-wrapper.cjs'),
  protocol: anthropicMessages,
  configure(home, { url }, { settings, listsTools }) {
    const file = join(home, 'servers.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { heddle: { type: 'stdio', ...serverEntry(home, settings) } } }));
    return {
      args: ['--print', prompt, '--mcp-config', file, '--strict-mcp-config', '--allowedTools', 'mcp__heddle'],
      environment: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'dummy',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
        ...(listsTools && { ENABLE_TOOL_SEARCH: 'false' }),
      },
    };
  },
};

export const codex: ModelClient = {
  title: 'Codex',
  script: installedScript('Codex', '@openai/codex/bin/codex.js'),
  protocol: openaiResponses,
  configure(home, { url }, { settings, listsTools, isUnknownModel }) {
    const folder = join(home, '.codex');
    mkdirSync(folder, { recursive: true });
    const { env, ...entry } = serverEntry(home, settings);
    // TOML writes strings and lists of strings like JSON does.
    const lines = (members: Record<string, unknown>): string[] =>
      Object.entries(members).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
    const configuration = [
      // Codex lists all tools to models without a description.
      ...lines({ model: listsTools || isUnknownModel ? 'a-local-model' : 'gpt-5.5', model_provider: 'recording' }),
      ...lines({ check_for_update_on_startup: false, approval_policy: 'never', sandbox_mode: 'read-only' }),
      '[analytics]',
      ...lines({ enabled: false }),
      '[feedback]',
      ...lines({ enabled: false }),
      '[features]',
      ...lines({ plugins: false }),
      '[model_providers.recording]',
      ...lines({ name: 'Recording', base_url: `${url}/v1`, wire_api: 'responses', env_key: 'RECORDING_KEY' }),
      ...lines({ request_max_retries: 0, stream_max_retries: 0 }),
      '[mcp_servers.heddle]',
      ...lines({ ...entry, default_tools_approval_mode: 'approve' }),
      '[mcp_servers.heddle.env]',
      ...lines(env),
    ];
    writeFileSync(join(folder, 'config.toml'), configuration.join('\n'));
    return {
      args: ['exec', '--strict-config', '--skip-git-repo-check', prompt],
      environment: { CODEX_HOME: folder, RECORDING_KEY: 'dummy' },
    };
  },
};

export interface Conversation {
  /** The contents of each request to the model. */
  inputs: ModelInput[];
  /** The contents of the last one. */
  last: ModelInput;
  /** Requests to other paths. */
  others: string[];
}

/** Runs a client in a home, with heddle as its server and a model that acts out `turns`. */
export async function converse(
  client: ModelClient,
  home: string,
  turns: readonly Turn[],
  options: ConversationOptions = {},
): Promise<Conversation> {
  const api = await startModelApi(client.protocol, turns);
  const { args, environment } = client.configure(home, api, options);
  const work = join(home, 'work');
  mkdirSync(work, { recursive: true });
  // Requests to other hosts go to the recorder, which refuses them.
  const env = emptyHome(home, { ...environment, HTTPS_PROXY: api.url });
  const ran = await runTool(process.execPath, [client.script!, ...args], env, work);
  expect(ran.code, ran.stderr + ran.stdout).toBe(0);
  expect(ran.stdout).toContain('Done.');
  expect(api.inputs).toHaveLength(turns.length + 1);
  expect(api.others.filter((request) => request.startsWith('CONNECT'))).toEqual([]);
  return { inputs: api.inputs, last: api.inputs.at(-1)!, others: api.others };
}

/** Counts the tokens (o200k) of a value as compact JSON, or of a string. */
export async function countTokens(value: unknown): Promise<number> {
  const { encode } = await import(`${modules}gpt-tokenizer/esm/encoding/o200k_base.js`);
  return encode(typeof value === 'string' ? value : JSON.stringify(value)).length;
}
