// The floor: JSON-RPC by hand without any validation. Like the tutorials it sends the data twice, structured and as text.
import { createServer } from 'node:http';
import { queryQueueItems } from './service.mjs';

const tool = {
  name: 'query_queue_items',
  inputSchema: {
    type: 'object',
    properties: { queue_id: { type: 'string' }, project_id: { type: 'string' }, limit: { type: 'integer' } },
    required: ['queue_id', 'project_id'],
  },
};

async function answer({ id, method, params }) {
  if (id === undefined) return undefined;
  return JSON.stringify({ jsonrpc: '2.0', id, result: await resultOf(method, params) });
}

async function resultOf(method, params) {
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'floor', version: '1.0.0' } };
  }
  if (method === 'tools/list') return { tools: [tool] };
  const data = await queryQueueItems(params.arguments);
  return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data };
}

if (process.argv[2] === 'http') {
  const server = createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', async () => {
      const body = await answer(JSON.parse(Buffer.concat(parts)));
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
  server.listen(0, '127.0.0.1', () => console.error(`http://127.0.0.1:${server.address().port}/mcp`));
} else {
  let rest = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) answer(JSON.parse(line)).then((text) => text && process.stdout.write(`${text}\n`));
  });
}
