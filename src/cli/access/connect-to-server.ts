import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { version } from '../../core/version.ts';
import { invocation } from '../invocation.ts';

const connectTimeoutMs = 10_000;

/** A program that speaks MCP on stdin and stdout. */
export interface ServerProgram {
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

/** Returns `heddle serve` of this installation as an MCP client starts it. */
export function ownServer(args: string[], env: NodeJS.ProcessEnv): ServerProgram {
  return { command: process.execPath, args: [...process.execArgv, invocation().script, 'serve', ...args], env };
}

/** Starts a server as an MCP client does, and connects to it over stdio. */
export async function connectToServer(name: string, { env, ...server }: ServerProgram): Promise<Client> {
  const client = new Client({ name, version });
  const transport = new StdioClientTransport({ ...server, env: env as Record<string, string> });
  await client.connect(transport, { timeout: connectTimeoutMs });
  return client;
}
