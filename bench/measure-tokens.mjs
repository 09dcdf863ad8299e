// Tokens a model reads for each form of a result, compared with everything that the service sent as compact JSON.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { encode as cl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { StdioConnection, successOf } from './lib/protocol.mjs';
import { shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, queue, queueCall, serviceEnvironment } from './lib/subjects.mjs';

const realItems = fileURLToPath(new URL('../../shared/data/queue-items.jsonl', import.meta.url));

/** Renders real items as the public service sends them: UUIDs, an internal project id, creation times. */
function asPublicItems(lines) {
  return lines.map((line, index) => {
    const { call: _, ...given } = JSON.parse(line);
    const hex = (of) => (((index + of) * 2_654_435_761) % 4_294_967_296).toString(16).padStart(8, '0');
    const createdAt = new Date(1_760_000_000_000 + index * 1_237).toISOString();
    return {
      id: `0199a3c4-${hex(1).slice(0, 4)}-7${hex(2).slice(0, 3)}-9${hex(3).slice(0, 3)}-${hex(4)}${hex(5).slice(0, 4)}`,
      project_id: 'UHJvamVjdEludGVybmFsSWQ6NDA5NjE2Mzk=',
      queue_id: queue,
      ...given,
      call_started_at: new Date(given.call_started_at).toISOString(),
      call_ended_at: new Date(given.call_ended_at).toISOString(),
      created_at: createdAt,
      created_by: 'api',
      updated_at: createdAt,
      annotator_user_id: null,
      deleted_at: null,
      position_in_queue: null,
    };
  });
}

/** Serves the given items as every response. */
async function serve(items) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ items }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return `http://127.0.0.1:${server.address().port}`;
}

/** Counts both forms of a result, and the structured form of `whole`, which has every member that the service sent. */
function counted(what, result, whole = result) {
  const text = result.content.map((part) => part.text).join('\n');
  const structured = JSON.stringify(result.structuredContent);
  const json = JSON.stringify(whole.structuredContent);
  const count = (tokens) => ({
    text: tokens(text).length,
    structured: tokens(structured).length,
    json: tokens(json).length,
  });
  return { what, o200k: count((part) => o200k(part)), cl100k: count((part) => cl100k(part)) };
}

/** Number of imports. Each import creates new ids, whose token counts differ slightly; the median import counts. */
const imports = 9;

/** Counts tokens. Without the real items their part is skipped, and the report says so. */
export async function measureTokens(stubUrl, run, log) {
  const results = [];
  const lines = existsSync(realItems) ? readFileSync(realItems, 'utf8').trim().split('\n') : undefined;
  if (lines) {
    const queues = Array.from({ length: imports }, (_, index) => `q${index + 1}`);
    for (const queue_id of queues) {
      await run(['service', 'import', realItems, '--project', 'real/items', '--queue', queue_id]);
    }
    const embedded = new StdioConnection([heddle], { ...cleanEnvironment, HEDDLE_BASE_URL: '' });
    const page = { project_id: 'real/items', limit: 50, offset: 100 };
    for (const [what, more] of [
      ['50 real items, imported', {}],
      [
        'the same, newest first, with positions',
        { sort_by: [{ field: 'call_started_at', direction: 'desc' }], include_position: true },
      ],
      ['the same, with the values of their calls', { include_call: true }],
    ]) {
      const all = [];
      for (const queue_id of queues) {
        const args = { ...page, queue_id, ...more };
        const result = await embedded.call('query_queue_items', args);
        const whole = await embedded.call('query_queue_items', { ...args, fields: ['*'] });
        all.push(counted(what, successOf(result), successOf(whole)));
      }
      const ratio = ({ o200k: { text, json } }) => text / json;
      results.push(all.sort((a, b) => ratio(a) - ratio(b))[Math.floor(imports / 2)]);
    }
    await embedded.close();
    const url = await serve(asPublicItems(lines.slice(100, 150)));
    const remote = new StdioConnection([heddle], serviceEnvironment(url));
    const [name, args] = queueCall(50);
    const whole = successOf(await remote.call(name, { ...args, fields: ['*'] }));
    results.push(
      counted('50 real items, as the public service sends them', successOf(await remote.call(name, args)), whole),
    );
    await remote.close();
  } else {
    log(`TOKENS OF REAL ITEMS SKIPPED: ${realItems} is not there`);
  }
  const stub = new StdioConnection([heddle], serviceEnvironment(stubUrl));
  const { instructions } = await stub.initialize();
  stub.initialized();
  for (const [what, name, args] of [
    ['50 made-up items', ...queueCall(50)],
    [
      'inference',
      'run_inference',
      { model: 'support-model', messages: [{ role: 'user', content: 'How do I export?' }] },
    ],
    [
      'evaluation',
      'create_evaluation',
      { name: 'Support answers', dataset: 'weave:///acme/support/object/tickets:latest' },
    ],
  ]) {
    const whole = name === 'query_queue_items' ? { ...args, fields: ['*'] } : args;
    results.push(counted(what, successOf(await stub.call(name, args)), successOf(await stub.call(name, whole))));
  }
  const { tools } = await stub.request('tools/list');
  await stub.close();
  log('tokens counted');
  const asRead = ({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema });
  const tokensOf = (list) => o200k(`[${list.join(',')}]`).length;
  const mostUsed = ['list_queues', 'query_queue_items', 'summarize_queue', 'read_call', 'update_queue_items'];
  return {
    results,
    definitions: {
      count: tools.length,
      tools: tokensOf(tools.map(asRead)),
      mostUsed: tokensOf(tools.filter(({ name }) => mostUsed.includes(name)).map(asRead)),
      instructions: o200k(instructions).length,
      outputs: tokensOf(tools.map(({ outputSchema }) => JSON.stringify(outputSchema))),
    },
    skipped: !lines,
  };
}

/** Renders the measurement as Markdown. */
export function reportTokens({ results, definitions, skipped }) {
  const rows = results.map(({ what, o200k, cl100k }) => [
    what,
    o200k.json,
    o200k.text,
    shown(o200k.text / o200k.json),
    o200k.structured,
    shown(o200k.structured / o200k.json),
    shown(cl100k.text / cl100k.json),
    shown(cl100k.structured / cl100k.json),
  ]);
  const { count, tools, mostUsed, instructions, outputs } = definitions;
  return `## Tokens

Tokens of the two forms of a result, of which a client shows one or the other, compared with every member that the service
sent as compact JSON, which the tutorials send as text. The median of ${imports} imports, whose ids differ.${skipped ? '\n\n**The real items were not available: their rows are missing.**' : ''}

${table(['result', 'JSON, o200k', 'text', 'ratio', 'structured', 'ratio', 'text, cl100k', 'structured, cl100k'], rows)}

The ${count} tools as models see them (name, description, arguments) are ${tools} tokens (o200k), the five that triage uses
most ${mostUsed}. The instructions for a configured service are ${instructions}, the schemas of results, which few clients show, ${outputs}. What each client makes of the definitions is
in [docs/clients.md](../docs/clients.md).`;
}
