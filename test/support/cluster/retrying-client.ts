import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';
import type { Machines, Subject } from './machines.ts';

export const kinds = ['v2, 2026-07-28', 'v2, older', 'v1'] as const;

// biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
export type Structured = any;

export interface Outcome {
  /** The structured result of the attempt that succeeded. */
  result?: Structured;
  /** Messages of the failed attempts. */
  failures: string[];
}

/** Calls a tool. */
export type Call = (tool: string, args: Record<string, unknown>) => Promise<Outcome>;

/** Maximum attempts of a repeatable call. */
const attempts = 5;

/** Connects a client of a subject, and returns a function that repeats failed calls if the tool's hints allow that. */
export async function connect(kind: (typeof kinds)[number], subject: Subject, { url, fetch }: Machines): Promise<Call> {
  const requestInit = { headers: { authorization: `Bearer ${subject.token}` } };
  const options = { fetch, requestInit };
  const info = { name: 'test', version: '1.0.0' };
  let client: Pick<Client, 'listTools' | 'callTool'>;
  if (kind === 'v1') {
    const older = new OlderClient(info);
    await older.connect(new OlderTransport(url, options) as never);
    onTestFinished(() => older.close());
    client = older as never;
  } else {
    const mode = kind === 'v2, older' ? ('legacy' as const) : { pin: '2026-07-28' };
    const newer = new Client(info, { versionNegotiation: { mode } });
    await newer.connect(new StreamableHTTPClientTransport(url, options));
    onTestFinished(() => newer.close());
    client = newer;
  }
  const { tools } = await client.listTools();
  const hints = new Map(tools.map(({ name, annotations = {} }) => [name, annotations]));
  return async (name, args) => {
    const { readOnlyHint, idempotentHint } = hints.get(name)!;
    const failures: string[] = [];
    for (let attempt = 1; attempt <= (readOnlyHint || idempotentHint ? attempts : 1); attempt++) {
      try {
        const { isError, structuredContent, content } = await client.callTool({ name, arguments: args });
        if (!isError) return { result: structuredContent, failures };
        failures.push((content as { text: string }[])[0]!.text);
      } catch (error) {
        failures.push(String(error));
        // The same call would be refused again.
        if (isRefusal(String(error))) break;
      }
    }
    return { failures };
  };
}

/** Tells whether a call failed because the subject lacks a scope, in the words of either SDK. */
export function isRefusal(failure: string): boolean {
  return /scope.*heddle:write/i.test(failure);
}
