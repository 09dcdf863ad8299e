import type { Client } from '@modelcontextprotocol/client';
import { connectToProcess, startServer } from './client.ts';
import { parseErrorText } from './error-text.ts';
import { emptyHome, temporaryFolder } from './heddle.ts';

/** The outcome of a tool call. */
export interface ToolOutcome {
  code: string;
  retryable?: boolean;
  retry_after_ms?: number;
  partial_text?: string;
  message?: string;
  hint?: string;
  status?: number;
}

export interface ToolServer {
  client: Client;
  /** Returns the lines of its log so far. */
  log: () => string;
  /** Calls a tool, as part of a trace if there is one; `code` is `ok` on success. The error of a refused item counts as the outcome. */
  call: (tool: string, args: Record<string, unknown>, traceparent?: string) => Promise<ToolOutcome>;
}

/** A tool server in a process of its own. */
export interface ToolProcess extends ToolServer {
  pid: number;
}

function environmentFor(baseUrl: string, extra: Record<string, string>): Record<string, string> {
  return emptyHome(temporaryFolder(), {
    HEDDLE_BASE_URL: baseUrl,
    HEDDLE_PROJECT: 'a/b',
    HEDDLE_USERNAME: 'user',
    HEDDLE_PASSWORD: 'password-of-user',
    HEDDLE_TOKEN: 'token-of-user',
    HEDDLE_LOG_FORMAT: 'json',
    ...extra,
  });
}

/** Starts a server for a service in this process and connects a client to it. */
export async function startToolServer(baseUrl: string, extra: Record<string, string> = {}): Promise<ToolServer> {
  const { connect, log } = startServer(environmentFor(baseUrl, extra));
  const { client } = await connect();
  return { client, log, call: callerOf(client) };
}

/** Starts `heddle serve` for a service as a process and connects a client to it. */
export async function startToolProcess(baseUrl: string, extra: Record<string, string> = {}): Promise<ToolProcess> {
  const { client, pid, log } = await connectToProcess(environmentFor(baseUrl, extra));
  return { client, pid, log, call: callerOf(client) };
}

function callerOf(client: Client): ToolServer['call'] {
  return async (name, args, traceparent) => {
    const params = { name, arguments: args, ...(traceparent !== undefined && { _meta: { traceparent } }) };
    return outcomeOf(await client.callTool(params, { timeout: 90_000 }));
  };
}

function outcomeOf({ isError, content, structuredContent }: Awaited<ReturnType<Client['callTool']>>): ToolOutcome {
  const [block] = content;
  if (isError && block?.type === 'text') return parseErrorText(block.text) as unknown as ToolOutcome;
  const [item] = (structuredContent as { items?: { error?: ToolOutcome }[] }).items ?? [];
  return item?.error ?? { code: 'ok' };
}
