// SDK v1 as its documentation shows it; over HTTP without sessions, with express.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { description, input, output, resultOf } from './schemas.mjs';
import { queryQueueItems } from './service.mjs';

function createServer() {
  const server = new McpServer({ name: 'tutorial', version: '1.0.0' });
  server.registerTool('query_queue_items', { description, inputSchema: input, outputSchema: output }, async (args) =>
    resultOf(await queryQueueItems(args)),
  );
  return server;
}

if (process.argv[2] === 'http') {
  const { createMcpExpressApp } = await import('@modelcontextprotocol/sdk/server/express.js');
  const { StreamableHTTPServerTransport } = await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const app = createMcpExpressApp();
  app.post('/mcp', async (request, response) => {
    const server = createServer();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    response.on('close', () => {
      transport.close();
      server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(request, response, request.body);
  });
  const listening = app.listen(0, '127.0.0.1', () => {
    console.error(`http://127.0.0.1:${listening.address().port}/mcp`);
  });
} else {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  await createServer().connect(new StdioServerTransport());
}
