import type { Client } from '@modelcontextprotocol/client';
import { connectToProcess, startServer } from './client.ts';
import { parseErrorText } from './error-text.ts';
import { emptyHome, temporaryFolder } from './heddle.ts';

/** Arguments for each tool. `project` marks the requests of a call, so calls can run at the same time. */
export const toolCalls: Record<string, (project: string) => Record<string, unknown>> = {
  list_queues: (project) => ({ project_id: `a/${project}` }),
  query_queue_items: (project) => ({ project_id: `a/${project}`, queue_id: 'q' }),
  summarize_queue: (project) => ({ project_id: `a/${project}`, queue_id: 'q' }),
  read_call: (project) => ({ project_id: `a/${project}`, call_id: 'c1' }),
  query_calls: (project) => ({ project_id: `a/${project}` }),
  create_queue: (project) => ({ project_id: `a/${project}`, name: 'New' }),
  add_queue_items: (project) => ({ project_id: `a/${project}`, queue_id: 'q', call_ids: ['c1'] }),
  update_queue_items: (project) => ({
    project_id: `a/${project}`,
    queue_id: 'q',
    items: [{ item_id: 'i1', annotation_state: 'completed' }],
  }),
  review_queue: (project) => ({ project_id: `a/${project}`, queue_id: 'q' }),
  list_objects: (project) => ({ project_id: `a/${project}`, kind: 'dataset' }),
  read_object: (project) => ({ ref: `weave:///a/${project}/object/d:latest` }),
  run_inference: (project) => ({ model: project, messages: [{ role: 'user', content: 'Hi' }] }),
  run_evaluation: (project) => ({ project_id: `a/${project}`, run_id: 'r1' }),
  read_evaluation: (project) => ({ project_id: `a/${project}`, run_ids: ['r1'] }),
  create_dataset: (project) => ({ project_id: `a/${project}`, name: 'New', rows: [{ q: 1 }] }),
  create_scorer: (project) => ({ project_id: `a/${project}`, name: 'New', kind: 'json_valid' }),
  create_evaluation: (project) => ({ project_id: `a/${project}`, name: 'E', dataset: 'weave:///a/b/object/d:latest' }),
};

/** Tools whose requests must not be repeated. */
export const unrepeatable = new Set(['create_queue', 'run_inference', 'create_evaluation']);

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
  /** Calls a tool; `code` is `ok` on success. The error of a refused item counts as the outcome. */
  call: (tool: string, args: Record<string, unknown>) => Promise<ToolOutcome>;
}

/** A tool server in a process of its own. */
export interface ToolProcess extends ToolServer {
  pid: number;
}

function environmentFor(baseUrl: string, extra: Record<string, string>): Record<string, string> {
  return emptyHome(temporaryFolder(), {
    HEDDLE_BASE_URL: baseUrl,
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
  return async (tool, args) => outcomeOf(await client.callTool({ name: tool, arguments: args }, { timeout: 90_000 }));
}

function outcomeOf({ isError, content, structuredContent }: Awaited<ReturnType<Client['callTool']>>): ToolOutcome {
  const [block] = content;
  if (isError && block?.type === 'text') return parseErrorText(block.text) as unknown as ToolOutcome;
  const [item] = (structuredContent as { items?: { error?: ToolOutcome }[] }).items ?? [];
  return item?.error ?? { code: 'ok' };
}
