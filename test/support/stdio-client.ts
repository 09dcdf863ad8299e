import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { parseErrorText } from '../../src/mcp/call-tool.ts';
import { command } from './heddle.ts';
import { onEnd } from './on-end.ts';

export interface StdioClientOptions {
  /** Protocol version to use, or `legacy` for the versions before 2026-07-28. */
  mode?: 'legacy' | { pin: string };
  /** Response to every question for the user; without it the client cannot ask. */
  answer?: 'accept' | 'decline' | 'cancel';
  /** Runs before each answer. */
  beforeAnswer?: () => Promise<void>;
}

export interface StdioClient {
  client: Client;
  pid: number;
  /** Calls a tool; returns its structured result with its text, or `{ error }`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  call: (name: string, args: Record<string, unknown>) => Promise<any>;
  /** Questions that the server has asked so far. */
  questions: string[];
}

/** Starts the server with the environment and connects a client, until the test ends, or the file when called at its top level. */
export async function connectStdioClient(
  environment: Record<string, string>,
  { mode = 'legacy', answer, beforeAnswer }: StdioClientOptions = {},
): Promise<StdioClient> {
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
  const transport = new StdioClientTransport({ command: process.execPath, args: [command], env: environment });
  await client.connect(transport);
  onEnd(() => client.close());
  const call: StdioClient['call'] = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    const [block] = result.content;
    const text = block?.type === 'text' ? block.text : '';
    return result.isError ? { error: parseErrorText(text) } : { ...(result.structuredContent as object), text };
  };
  return { client, pid: transport.pid!, call, questions };
}
