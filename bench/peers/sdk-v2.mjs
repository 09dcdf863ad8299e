// SDK v2 as its documentation shows it: McpServer and registerTool in a factory, serveStdio, createMcpHandler.
import { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { description, input, output, resultOf } from './schemas.mjs';
import { queryQueueItems } from './service.mjs';

function createServer() {
  const server = new McpServer({ name: 'tutorial', version: '1.0.0' });
  server.registerTool(
    'query_queue_items',
    { description, inputSchema: z.object(input), outputSchema: z.object(output) },
    async (args) => resultOf(await queryQueueItems(args)),
  );
  return server;
}

if (process.argv[2] === 'http') {
  const [{ createMcpHandler }, { toNodeHandler, localhostHostValidation, localhostOriginValidation }, http] =
    await Promise.all([
      import('@modelcontextprotocol/server'),
      import('@modelcontextprotocol/node'),
      import('node:http'),
    ]);
  const handler = toNodeHandler(createMcpHandler(createServer));
  const validHost = localhostHostValidation();
  const validOrigin = localhostOriginValidation();
  const server = http.createServer((request, response) => {
    if (!validHost(request, response) || !validOrigin(request, response)) return;
    void handler(request, response);
  });
  server.listen(0, '127.0.0.1', () => console.error(`http://127.0.0.1:${server.address().port}/mcp`));
} else {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  void serveStdio(createServer);
}
