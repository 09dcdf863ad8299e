/**
 * Stands in for the built command where a test runs a command that starts another heddle, because it starts in a tenth of the time:
 * it acts as a machine without a keychain, and as an MCP server without tools.
 */
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

if (process.argv[2] === 'access-keychain') {
  await text(process.stdin);
  process.stdout.write('{"failure":"No such file or directory"}');
} else {
  const results = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'stand-in', version: '1' },
    },
    'tools/list': { tools: [] },
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method } = JSON.parse(line);
    if (id !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: results[method] })}\n`);
  }
}
