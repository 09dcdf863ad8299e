import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { version } from '../../core/version.ts';
import { invocation } from '../invocation.ts';

const connectTimeoutMs = 10_000;

/** Starts `heddle serve` of this installation as an MCP client does, and connects to it over stdio. */
export async function connectToServer(name: string, args: string[], env: NodeJS.ProcessEnv): Promise<Client> {
  const client = new Client({ name, version });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...process.execArgv, invocation().script, 'serve', ...args],
    env: env as Record<string, string>,
  });
  await client.connect(transport, { timeout: connectTimeoutMs });
  return client;
}
