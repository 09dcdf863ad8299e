// fastmcp as its documentation shows it. Its results are text or content; it sends the data once, as JSON text.
import { FastMCP } from 'fastmcp';
import * as z from 'zod';
import { description, input } from './schemas.mjs';
import { queryQueueItems } from './service.mjs';

const server = new FastMCP({ name: 'tutorial', version: '1.0.0' });
server.addTool({
  name: 'query_queue_items',
  description,
  parameters: z.object(input),
  execute: async (args) => JSON.stringify(await queryQueueItems(args)),
});
await server.start({ transportType: 'stdio' });
