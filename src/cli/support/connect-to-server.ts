import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { HeddleError } from '../../core/errors.ts';
import { version } from '../../core/version.ts';

const connectTimeoutMs = 10_000;

/**
 * Starts `heddle serve` of this installation as an MCP client does, and connects to it over stdio.
 * @throws HeddleError with what the server printed on stderr.
 */
export async function connectToServer(name: string, args: string[], env: NodeJS.ProcessEnv): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...process.execArgv, process.argv[1]!, 'serve', ...args],
    env: env as Record<string, string>,
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (bytes: Buffer) => {
    stderr += bytes;
  });
  const client = new Client({ name, version });
  try {
    await client.connect(transport, { timeout: connectTimeoutMs });
    return client;
  } catch (error) {
    await client.close();
    throw new HeddleError({
      code: 'internal',
      message: `${(error as Error).message}. The server printed: ${stderr.trim().slice(-500) || 'nothing'}`,
      hint: 'Run `heddle serve` in a terminal to see what it prints.',
      cause: error,
    });
  }
}
