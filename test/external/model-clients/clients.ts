import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { command, emptyHome } from '../../support/heddle.ts';
import { installedPath, newNode, runTool } from '../../support/outside-programs.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import { geminiContent } from './gemini-content.ts';
import { type ModelApi, type ModelInput, type ModelProtocol, startModelApi, type Turn } from './model-api.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';

const conversation = fileURLToPath(new URL('../packages/client-libraries/converse.mjs', import.meta.url));
const recorder = fileURLToPath(new URL('record-server.mjs', import.meta.url));

export interface ConversationOptions {
  /** Settings of heddle. */
  settings?: Record<string, string>;
  /** True to have the definitions of all tools in the first request, which Claude Code and Codex do not by default. */
  listsTools?: boolean;
  /** True to use a model that the client has no description of. */
  isUnknownModel?: boolean;
  /** True to keep the messages of the client to heddle. */
  isRecorded?: boolean;
}

/** The command of an MCP server, and its environment. */
interface ServerEntry {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** The start of a client with a server and a model. */
interface ClientSetup {
  home: string;
  api: ModelApi;
  server: ServerEntry;
  options: ConversationOptions;
}

/** A client with a model of its own. */
export interface ModelClient {
  title: string;
  /** The npm package of the client, and the folder of test/external/packages that depends on it. */
  npm: { folder: string; name: string };
  /** Program that starts the client, and its first arguments; undefined if it is not installed. */
  program: string[] | undefined;
  protocol: ModelProtocol;
  /** Tool of the client itself that lists the resources of its servers; absent if there is none. */
  resourceTool?: string;
  /** Writes the client's configuration into its home, and returns how to start it there. */
  configure: (setup: ClientSetup) => { args: string[]; environment: Record<string, string> };
}

const prompt = 'Judge what waits in the queue.';

/** Returns the version of a client that is installed. */
export function versionOf({ npm: { folder, name } }: ModelClient): string {
  return JSON.parse(readFileSync(installedPath(folder, `${name}/package.json`)!, 'utf8')).version;
}

/** Describes a command-line program from npm. `runsItself` tells that its file needs no Node. */
function program(title: string, name: string, file: string, runsItself = false) {
  const npm = { folder: 'model-clients', name };
  const path = installedPath(npm.folder, `${name}/${file}`);
  if (path === undefined) return { title, npm, program: undefined };
  return { title, npm, program: runsItself ? [path] : [process.execPath, path] };
}

/** Returns the environment in which Claude Code uses the recording model. */
export function claudeEnvironment({ url }: ModelApi): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'dummy',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
  };
}

export const claudeCode: ModelClient = {
  ...program('Claude Code', '@anthropic-ai/claude-code', 'cli-wrapper.cjs'),
  protocol: anthropicMessages,
  resourceTool: 'ListMcpResourcesTool',
  configure({ home, api, server, options }) {
    const file = join(home, 'servers.json');
    writeFileSync(file, JSON.stringify({ mcpServers: { heddle: { type: 'stdio', ...server } } }));
    return {
      args: ['--print', prompt, '--mcp-config', file, '--strict-mcp-config', '--allowedTools', 'mcp__heddle'],
      environment: {
        ...claudeEnvironment(api),
        ...(options.listsTools && { ENABLE_TOOL_SEARCH: 'false' }),
      },
    };
  },
};

export const codex: ModelClient = {
  ...program('Codex', '@openai/codex', 'bin/codex.js'),
  protocol: openaiResponses({ namespace: 'mcp__heddle' }),
  resourceTool: 'list_mcp_resources',
  configure({ home, api, server: { env, ...entry }, options: { listsTools, isUnknownModel } }) {
    const folder = join(home, '.codex');
    mkdirSync(folder, { recursive: true });
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
      ...lines({ name: 'Recording', base_url: `${api.url}/v1`, wire_api: 'responses', env_key: 'RECORDING_KEY' }),
      ...lines({ request_max_retries: 0, stream_max_retries: 0 }),
      '[mcp_servers.heddle]',
      // On a busy machine Codex would begin without a server that is not required.
      ...lines({ ...entry, default_tools_approval_mode: 'approve', required: true }),
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

export const geminiCli: ModelClient = {
  ...program('Gemini CLI', '@google/gemini-cli', 'bundle/gemini.js'),
  protocol: geminiContent('mcp_heddle_'),
  resourceTool: 'list_mcp_resources',
  configure({ home, api, server }) {
    const folder = join(home, '.gemini');
    mkdirSync(folder, { recursive: true });
    const configuration = {
      mcpServers: { heddle: { ...server, trust: true } },
      security: { auth: { selectedType: 'gemini-api-key' } },
      general: { enableAutoUpdate: false },
      privacy: { usageStatisticsEnabled: false },
    };
    writeFileSync(join(folder, 'settings.json'), JSON.stringify(configuration));
    return {
      args: ['--prompt', prompt, '--yolo', '--skip-trust', '--model', 'gemini-2.5-flash'],
      environment: { GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: api.url },
    };
  },
};

/** Creates the folder of opencode's configuration, in which opencode would install its types for plugins from npm. */
export function opencodeFolder(home: string): string {
  const folder = join(home, 'opencode');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  const packages = { '': { dependencies: { '@opencode-ai/plugin': '*' } } };
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
  return folder;
}

export const opencode: ModelClient = {
  ...program('opencode', 'opencode-linux-x64', 'bin/opencode', true),
  protocol: openaiChat('heddle_'),
  resourceTool: 'list_mcp_resources',
  configure({ home, api, server: { command, args, env } }) {
    const recording = {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: `${api.url}/v1`, apiKey: 'dummy' },
      models: { recording: { name: 'Recording' } },
    };
    const folder = opencodeFolder(home);
    const configuration = {
      model: 'recording/recording',
      provider: { recording },
      mcp: { heddle: { type: 'local', command: [command, ...args], environment: env, enabled: true } },
    };
    writeFileSync(join(folder, 'opencode.json'), JSON.stringify(configuration));
    return {
      // Without a title it asks the model for one.
      args: ['run', '--title', 'Queue', prompt],
      environment: {
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      },
    };
  },
};

export const copilotCli: ModelClient = {
  ...program('GitHub Copilot CLI', '@github/copilot-linux-x64', 'copilot', true),
  protocol: openaiChat('heddle-'),
  configure({ home, api, server }) {
    const folder = join(home, '.copilot');
    mkdirSync(folder, { recursive: true });
    const heddle = { type: 'local', ...server, tools: ['*'] };
    writeFileSync(join(folder, 'mcp-config.json'), JSON.stringify({ mcpServers: { heddle } }));
    return {
      args: ['--prompt', prompt, '--allow-all-tools'],
      environment: {
        COPILOT_HOME: folder,
        COPILOT_MODEL: 'recording',
        // Without an account it takes the model of any provider.
        COPILOT_OFFLINE: 'true',
        COPILOT_PROVIDER_API_KEY: 'dummy',
        COPILOT_PROVIDER_BASE_URL: `${api.url}/v1`,
      },
    };
  },
};

// Most of the libraries need Node 22.
const node = newNode();

/** Describes a library that `converse.mjs` knows by its name. */
function library(title: string, npm: string, name: string, protocol: ModelProtocol): ModelClient {
  const folder = 'client-libraries';
  const isInstalled = installedPath(folder, npm) !== undefined;
  return {
    title,
    npm: { folder, name: npm },
    program: isInstalled && node ? [node, conversation, name] : undefined,
    protocol,
    configure: ({ api, server }) => ({
      args: [api.url, prompt, server.command, ...server.args],
      environment: server.env,
    }),
  };
}

export const aiSdk = library('AI SDK', '@ai-sdk/mcp', 'ai-sdk-openai', openaiResponses());
export const aiSdkForGemini = library('AI SDK with Gemini', '@ai-sdk/mcp', 'ai-sdk-google', geminiContent());
export const googleGenai = library('Google Gen AI SDK', '@google/genai', 'google-genai', geminiContent());
export const langChain = library('LangChain', '@langchain/mcp-adapters', 'langchain-openai', openaiChat());
export const langChainForGemini = library(
  'LangChain with Gemini',
  '@langchain/mcp-adapters',
  'langchain-google',
  geminiContent(),
);
export const llamaIndex = library('LlamaIndex', '@llamaindex/tools', 'llamaindex', openaiChat());
export const mastra = library('Mastra', '@mastra/mcp', 'mastra-openai', openaiResponses({ prefix: 'heddle_' }));
export const mastraForGemini = library('Mastra with Gemini', '@mastra/mcp', 'mastra-google', geminiContent('heddle_'));
export const openaiAgents = library('OpenAI Agents', '@openai/agents', 'openai-agents', openaiResponses());
export const openaiAgentsStrict = library(
  'OpenAI Agents, strict',
  '@openai/agents',
  'openai-agents-strict',
  openaiResponses(),
);

export interface Conversation {
  /** The contents of each request to the model. */
  inputs: ModelInput[];
  /** The contents of the last one. */
  last: ModelInput;
  /** Requests to other paths. */
  others: string[];
  /** Messages of the client to heddle, if they were recorded. */
  // biome-ignore lint/suspicious/noExplicitAny: messages of every shape
  messages: any[];
}

/** Runs a client in a home, with heddle as its server and a model that acts out `turns`. */
export async function converse(
  client: ModelClient,
  home: string,
  turns: readonly Turn[],
  options: ConversationOptions = {},
): Promise<Conversation> {
  const api = await startModelApi(client.protocol, turns);
  const record = join(home, 'messages.jsonl');
  const server = {
    command: process.execPath,
    args: [...(options.isRecorded ? [recorder, record, process.execPath] : []), command, 'serve'],
    env: emptyHome(home, options.settings),
  };
  const { args, environment } = client.configure({ home, api, server, options });
  const work = join(home, 'work');
  mkdirSync(work, { recursive: true });
  // Requests to other hosts go to the recorder, which refuses them.
  const env = emptyHome(home, { ...environment, HTTPS_PROXY: api.url, NO_PROXY: '127.0.0.1' });
  const [file, ...first] = client.program!;
  const ran = await runTool(file!, [...first, ...args], env, work);
  expect(ran.code, ran.stderr + ran.stdout).toBe(0);
  expect(ran.stdout, ran.stderr).toContain('Done.');
  expect(api.inputs).toHaveLength(turns.length + 1);
  expect(api.others.filter((request) => request.startsWith('CONNECT'))).toEqual([]);
  const lines = existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : [];
  return {
    inputs: api.inputs,
    last: api.inputs.at(-1)!,
    others: api.others,
    messages: lines.map((line) => JSON.parse(line)),
  };
}

/** Counts the tokens (o200k) of a value as compact JSON, or of a string. */
export async function countTokens(value: unknown): Promise<number> {
  const { encode } = await import(installedPath('model-clients', 'gpt-tokenizer/esm/encoding/o200k_base.js')!);
  return encode(typeof value === 'string' ? value : JSON.stringify(value)).length;
}
