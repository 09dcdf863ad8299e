import { fileURLToPath } from 'node:url';
import { type CallToolResult, Client, ProtocolError, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type ChatModel, type FunctionTool, type Message, ModelServerError, type ToolCall } from './chat-model.ts';
import type { Job, PreparedJob } from './job.ts';
import { Workspace } from './workspace.ts';

/** The form of the results that the model sees; clients show one or the other. */
export const forms = ['text', 'structured'] as const;
export type Form = (typeof forms)[number];

/**
 * The end of a job. `not_possible` means that the server lacks a tool for it, `broken` that the model's server or the bench
 * failed; neither says anything about the model.
 */
export type Outcome = 'passed' | 'failed' | 'not_possible' | 'broken';

export interface PlayedJob extends Counts {
  job: string;
  form: Form;
  outcome: Outcome;
  /** The reasons why it is not `passed`. */
  faults: string[];
}

export interface Counts {
  calls: number;
  /** Calls that ended with an error. */
  toolErrors: number;
  /** Tokens that the model was shown, each once: instructions, tools, messages of the user, results. */
  tokensRead: number;
  /** Tokens of the results alone, errors included. */
  resultTokens: number;
  /** Tokens of its messages and of its calls. */
  tokensWritten: number;
}

export interface PlayOptions {
  model: Pick<ChatModel, 'complete'>;
  form: Form;
  countTokens: (text: string) => number;
  /** Starts a heddle with an environment; by default the built command. */
  startServer?: ((environment: Record<string, string>) => Transport) | undefined;
}

const builtCommand = fileURLToPath(new URL('../../dist/heddle.js', import.meta.url));

function startProcess(env: Record<string, string>): Transport {
  return new StdioClientTransport({ command: process.execPath, args: [builtCommand], env, stderr: 'ignore' });
}

/** Has the model do a job on data of its own, through MCP alone, and checks the end state. */
export async function playJob(job: Job, options: PlayOptions): Promise<PlayedJob> {
  const counts: Counts = { calls: 0, toolErrors: 0, tokensRead: 0, resultTokens: 0, tokensWritten: 0 };
  const ended = (outcome: Outcome, faults: string[]): PlayedJob => {
    return { job: job.name, form: options.form, outcome, faults, ...counts };
  };
  const workspace = await Workspace.open(await job.data?.());
  try {
    const prepared = await job.prepare(workspace);
    const client = new Client({ name: 'agent-benchmark', version: '1.0.0' });
    const startServer = options.startServer ?? startProcess;
    await client.connect(startServer({ ...workspace.environment, ...job.settings }));
    try {
      const { tools } = await client.listTools();
      const names = new Set(tools.map(({ name }) => name));
      const missing = job.needs.filter((name) => !names.has(name));
      if (missing.length > 0) return ended('not_possible', [`the server has no ${missing.join(', ')}`]);
      const conversation = new Conversation(client, tools.map(asFunction), prepared, job.maxCalls, options, counts);
      const answers = await conversation.run();
      if (!answers) return ended('failed', [`it was not done after ${job.maxCalls} calls`]);
      const faults = await prepared.check(answers);
      return ended(faults.length === 0 ? 'passed' : 'failed', faults);
    } finally {
      await client.close();
    }
  } catch (error) {
    if (error instanceof ModelServerError) return ended('broken', [error.message]);
    return ended('broken', [error instanceof Error ? (error.stack ?? error.message) : String(error)]);
  } finally {
    await workspace.close();
  }
}

type ListedTool = Awaited<ReturnType<Client['listTools']>>['tools'][number];

function asFunction({ name, description, inputSchema }: ListedTool): FunctionTool {
  return { type: 'function', function: { name, description, parameters: inputSchema } };
}

/** Returns what a client shows the model of a part of a result. */
function textOf(part: CallToolResult['content'][number]): string {
  if (part.type === 'resource_link') return `[Link to a resource: ${part.name}, ${part.uri}]`;
  return part.type === 'text' ? part.text : '';
}

/** The exchange of a model that has nothing but the server's instructions, its tools and the user's messages. */
class Conversation {
  readonly #client: Client;
  readonly #tools: FunctionTool[];
  readonly #prepared: PreparedJob;
  readonly #maxCalls: number;
  readonly #options: PlayOptions;
  readonly #counts: Counts;
  readonly #messages: Message[] = [];
  #othersHaveActed = false;

  constructor(
    client: Client,
    tools: FunctionTool[],
    prepared: PreparedJob,
    maxCalls: number,
    options: PlayOptions,
    counts: Counts,
  ) {
    this.#client = client;
    this.#tools = tools;
    this.#prepared = prepared;
    this.#maxCalls = maxCalls;
    this.#options = options;
    this.#counts = counts;
  }

  /** Returns what the model says to each message of the user; undefined if it makes too many calls. */
  async run(): Promise<string[] | undefined> {
    this.#show({ role: 'system', content: this.#client.getInstructions() ?? '' });
    this.#counts.tokensRead += this.#options.countTokens(JSON.stringify(this.#tools.map((tool) => tool.function)));
    const answers: string[] = [];
    for (const content of this.#prepared.turns) {
      this.#show({ role: 'user', content });
      const answer = await this.#answer();
      if (answer === undefined) return undefined;
      answers.push(answer);
    }
    return answers;
  }

  /** Lets the model work until it answers the user. */
  async #answer(): Promise<string | undefined> {
    const { model, countTokens } = this.#options;
    for (;;) {
      const message = await model.complete(this.#messages, this.#tools);
      this.#messages.push(message);
      const calls = message.tool_calls ?? [];
      this.#counts.tokensWritten += countTokens(message.content ?? '');
      for (const call of calls) {
        this.#counts.tokensWritten += countTokens(call.function.name) + countTokens(call.function.arguments);
      }
      if (calls.length === 0) return message.content ?? '';
      for (const call of calls) {
        if (this.#counts.calls === this.#maxCalls) return undefined;
        this.#counts.calls += 1;
        const content = await this.#call(call);
        this.#counts.resultTokens += countTokens(content);
        this.#show({ role: 'tool', tool_call_id: call.id, content });
      }
    }
  }

  #show(
    message: { role: 'system' | 'user'; content: string } | { role: 'tool'; tool_call_id: string; content: string },
  ) {
    this.#counts.tokensRead += this.#options.countTokens(message.content);
    this.#messages.push(message);
  }

  /** Runs a call and returns what the model sees of its result. */
  async #call({ function: { name, arguments: text } }: ToolCall): Promise<string> {
    const failed = (problem: string): string => {
      this.#counts.toolErrors += 1;
      return problem;
    };
    let args: Record<string, unknown>;
    try {
      args = text.trim() === '' ? {} : JSON.parse(text);
    } catch {
      return failed('The arguments are not JSON.');
    }
    let result: CallToolResult;
    try {
      result = (await this.#client.callTool({ name, arguments: args })) as CallToolResult;
    } catch (error) {
      if (error instanceof ProtocolError) return failed(error.message);
      throw error;
    }
    const shown = result.content.map(textOf).filter(Boolean).join('\n');
    if (result.isError) return failed(shown);
    await this.#letOthersAct(name, args);
    return this.#options.form === 'structured' ? JSON.stringify(result.structuredContent) : shown;
  }

  async #letOthersAct(name: string, args: Record<string, unknown>): Promise<void> {
    const hasLooked = ['query_queue_items', 'summarize_queue'].includes(name) || args.dry_run === true;
    if (this.#othersHaveActed || !hasLooked) return;
    this.#othersHaveActed = true;
    await this.#prepared.meanwhile?.();
  }
}
