// The least that a server on SDK v2 can be: one tool, no schema of its own, what the service sent passed on once. It is
// bundled and without Ajv like heddle. What it takes is the share of the SDK, which nothing on top of it can get below.
// With `text` it also writes heddle's compact text: then it is the least for what heddle sends.
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { compactTable } from '../../src/tools/support/table.ts';

const withText = process.argv[3] === 'text';

const inputSchema = { type: 'object', properties: { queue_id: { type: 'string' }, limit: { type: 'integer' } } };
const listed = { tools: [{ name: 'query_queue_items', inputSchema }] };

function createServer() {
  const server = new Server({ name: 'alone', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => listed);
  server.setRequestHandler('tools/call', async ({ params }) => {
    const { queryQueueItems } = await import('./service.mjs');
    const data = await queryQueueItems(params.arguments);
    return { content: withText ? [{ type: 'text', text: compactTable(data.items, []) }] : [], structuredContent: data };
  });
  return server;
}

if (process.argv[2] === 'http') {
  const { createServer: createHttpServer } = await import('node:http');
  const handler = createMcpHandler(createServer);
  const server = createHttpServer(async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const headers = Object.entries(request.headers);
    const web = new Request('http://localhost/mcp', { method: 'POST', headers });
    const answer = await handler.fetch(web, { parsedBody: JSON.parse(body) });
    const text = await answer.text();
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') }).end(text);
  });
  server.listen(0, '127.0.0.1', () => console.error(`http://127.0.0.1:${server.address().port}/mcp`));
} else {
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  void serveStdio(createServer);
}
