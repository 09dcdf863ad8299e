import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Client } from '@modelcontextprotocol/client';
import type { Command } from 'commander';
import { connectToServer } from '../support/connect-to-server.ts';
import { printLine } from '../support/print.ts';

/** Adds `heddle demo`, which triages a sample queue: a real MCP client, a real server, and data in a temporary folder. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('triage a sample queue on the embedded service, step by step, through a real MCP client')
    .action(runDemo);
}

async function runDemo(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-demo-'));
  try {
    printHeading(`A client starts \`heddle serve\`; its embedded service keeps its data in ${folder}`);
    const client = await connectToServer('heddle-demo', ['--data-dir', folder], isolatedEnvironment(folder));
    try {
      const { tools } = await client.listTools();
      printHeading(`The server offers ${tools.map(({ name }) => name).join(', ')}.`);
      await triageQueue(client);
      const files = await readdir(folder);
      printHeading(`\nThe data folder now holds ${files.join(', ')}. It is removed again.`);
    } finally {
      await client.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  printHeading('Next: connect your own client, see "Connect" in README.md.');
}

/** Lists queues, reads items, asks a model, judges the items in one call and creates an evaluation. */
async function triageQueue(client: Client): Promise<void> {
  const call = stepRunner(client);
  await call('List the queues, and how much is left to do in each.', 'list_queues', {});

  const page = await call('Read the newest items of a queue that nobody has started.', 'query_queue_items', {
    queue_id: 'support-triage',
    filter: { annotation_states: ['unstarted'] },
    sort_by: [{ field: 'call_started_at', direction: 'desc' }],
    limit: 3,
    include_position: true,
    include_call: true,
  });
  const items = page.items as { id: string; call_values: Record<string, unknown> }[];

  await call(
    'Ask a model for a second opinion, with the stored prompt "triage". The built-in model only echoes.',
    'run_inference',
    {
      model: 'heddle/echo',
      prompt: 'weave:///demo/support/object/triage:latest',
      template_vars: { product: 'the mobile app', question: items[0]?.call_values['inputs.question'] },
    },
  );

  const judgements = {
    queue_id: 'support-triage',
    items: items.map(({ id }, index) => ({
      item_id: id,
      annotation_state: index === 2 ? 'skipped' : 'completed',
      feedback: { name: 'helpful', value: index === 0 },
      expected_state: 'unstarted',
    })),
  };
  await call('Record all judgements in one call.', 'update_queue_items', judgements);
  await call('Send the same call again: it changes nothing.', 'update_queue_items', judgements);

  await call('List the datasets that an evaluation can use.', 'list_objects', { kind: 'dataset' });
  await call('Create an evaluation of a dataset with two scorers.', 'create_evaluation', {
    name: 'Support answers',
    dataset: 'weave:///demo/support/object/tickets:latest',
    scorers: ['weave:///demo/support/object/helpfulness:latest', 'weave:///demo/support/object/tone:latest'],
  });

  await call(
    'Make a mistake, to see the error that an agent gets.',
    'query_queue_items',
    { queue: 'support-triage' },
    true,
  );
}

/** Returns a function that makes a tool call, prints it with its result and returns the structured result. */
function stepRunner(client: Client) {
  let step = 0;
  return async (title: string, tool: string, args: Record<string, unknown>, isErrorExpected = false) => {
    step += 1;
    printHeading(`\n${step}. ${title}`);
    printLine(styleText('cyan', `   ${tool} ${JSON.stringify(args)}`));
    const result = await client.callTool({ name: tool, arguments: args });
    for (const block of result.content) {
      if (block.type !== 'text') continue;
      const text = block.text.replace(/^/gm, '   ');
      printLine(result.isError ? styleText('yellow', text) : text);
    }
    if (Boolean(result.isError) !== isErrorExpected) throw new Error(`Unexpected result of ${tool}`);
    return (result.structuredContent ?? {}) as Record<string, unknown>;
  };
}

/** Returns an environment without the user's settings, so that the demo never reaches a real service. */
function isolatedEnvironment(folder: string): Record<string, string> {
  const homes = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'];
  return { PATH: process.env.PATH ?? '', ...Object.fromEntries(homes.map((name) => [name, folder])) };
}

function printHeading(text: string): void {
  printLine(styleText('bold', text));
}
