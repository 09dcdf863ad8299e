import { Client, InMemoryTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { runtimeOptions } from '../../src/cli/access/runtime-options.ts';
import { withInvocation } from '../../src/cli/invocation.ts';
import { connect } from '../../src/mcp/connect.ts';
import { serverFactory } from '../../src/mcp/server.ts';
import { openRuntime } from '../../src/runtime/runtime.ts';
import { resolveSettings } from '../../src/settings/resolve-settings.ts';
import { parseErrorText } from './error-text.ts';
import { command, inInvocation } from './heddle.ts';
import { onEnd } from './on-end.ts';

export interface ClientOptions {
  /** Protocol version to use, or `legacy` for the versions before 2026-07-28. */
  mode?: 'legacy' | 'auto' | { pin: string };
  /** Response to every question for the user; without it the client cannot ask. */
  answer?: 'accept' | 'decline' | 'cancel';
  /** Runs before each answer. */
  beforeAnswer?: () => Promise<void>;
}

export interface ConnectedClient {
  client: Client;
  /** Calls a tool; returns its structured result with its text, or `{ error }`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  call: (name: string, args: Record<string, unknown>) => Promise<any>;
  /** Questions that the server has asked so far. */
  questions: string[];
}

/** A server in this process. */
export interface TestServer {
  /** Returns the client's end of a new connection. */
  open: () => Transport;
  /** Connects a client. It is closed with the test, or with the file when connected at its top level. */
  connect: (options?: ClientOptions) => Promise<ConnectedClient>;
  /** Returns the lines of its log so far. */
  log: () => string;
}

/** Starts an MCP server in this process with the settings of an environment, until the test ends, or the file when called at its top level. */
export function startServer(environment: Record<string, string>): TestServer {
  const { output, made } = inInvocation(environment, (given) => {
    const resolved = resolveSettings({ flags: {}, environment, folders: given.folders });
    return { given, runtime: openRuntime(resolved, runtimeOptions(resolved, 'heddle')) };
  });
  const { given, runtime } = made;
  const createMcpServer = serverFactory({ ...runtime.serverOptions, transport: 'stdio' });
  onEnd(() => runtime.close());
  const open = (): Transport => {
    const [near, far] = InMemoryTransport.createLinkedPair();
    onEnd(connect(createMcpServer, far, runtime.log));
    const send = near.send.bind(near);
    // The server handles a message in the context of its sender, which is the test.
    near.send = (...message) => withInvocation(given, () => send(...message));
    return near;
  };
  return { open, connect: (options) => connectTo(open(), options), log: () => output.stderr };
}

/** Starts a server in this process and connects a client to it; see {@link startServer}. */
export function connectClient(environment: Record<string, string>, options?: ClientOptions): Promise<ConnectedClient> {
  return startServer(environment).connect(options);
}

/** Starts `heddle serve` as a process and connects a client to it, until the test ends, or the file when called at its top level. */
export async function connectToProcess(
  environment: Record<string, string>,
  options?: ClientOptions,
  node = process.execPath,
): Promise<ConnectedClient & { pid: number; log: () => string }> {
  const transport = new StdioClientTransport({
    command: node,
    args: [command],
    env: environment,
    stderr: 'pipe',
  });
  let log = '';
  transport.stderr?.on('data', (bytes: Buffer) => {
    log += bytes.toString();
  });
  const connected = await connectTo(transport, options);
  return { ...connected, pid: transport.pid!, log: () => log };
}

async function connectTo(
  transport: Transport,
  { mode = 'legacy', answer, beforeAnswer }: ClientOptions = {},
): Promise<ConnectedClient> {
  const questions: string[] = [];
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode }, ...(answer && { capabilities: { elicitation: { form: {} } } }) },
  );
  if (answer) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      questions.push(params.message);
      await beforeAnswer?.();
      return answer === 'accept' ? { action: 'accept', content: { confirm: true } } : { action: answer };
    });
  }
  await client.connect(transport);
  onEnd(() => client.close());
  const call: ConnectedClient['call'] = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    const [block] = result.content;
    const text = block?.type === 'text' ? block.text : '';
    return result.isError ? { error: parseErrorText(text) } : { ...(result.structuredContent as object), text };
  };
  return { client, call, questions };
}
