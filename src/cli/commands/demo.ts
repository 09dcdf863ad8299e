import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Client } from '@modelcontextprotocol/client';
import type { Command } from 'commander';

/** `heddle demo`: a triage from end to end, by a real MCP client on a real server with its data in a folder of its own. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('triage a sample queue on the embedded service, step by step, through a real MCP client')
    .action(async () => {
      const [{ Client }, { StdioClientTransport }] = await Promise.all([
        import('@modelcontextprotocol/client'),
        import('@modelcontextprotocol/client/stdio'),
      ]);
      const folder = await mkdtemp(join(tmpdir(), 'heddle-demo-'));
      const client = new Client({ name: 'heddle-demo', version: '1.0.0' });
      try {
        say(`A client starts \`heddle serve\`; its embedded service keeps its data in ${folder}`);
        await client.connect(
          new StdioClientTransport({
            command: process.execPath,
            args: [process.argv[1]!, 'serve', '--data-dir', folder],
            env: isolated(folder),
          }),
        );
        const { tools } = await client.listTools();
        say(`The server offers ${tools.map(({ name }) => name).join(', ')}.`);
        await triage(client);
        const files = await readdir(folder);
        say(`\nOn disk meanwhile: ${files.join(', ')}. The folder is removed now.`);
      } finally {
        await client.close();
        await rm(folder, { recursive: true, force: true });
      }
      say('Next: connect your own client, see "Connect" in README.md.');
    });
}

/** The story: list, look, judge with a model, update in bulk, create an evaluation. */
async function triage(client: Client): Promise<void> {
  let step = 0;
  /** Makes one tool call, shows it with its result, and gives the structured result. */
  const show = async (says: string, tool: string, args: Record<string, unknown>, outcome = 'works') => {
    step += 1;
    say(`\n${step}. ${says}`);
    process.stdout.write(`${styleText('cyan', `   ${tool} ${JSON.stringify(args)}`)}\n`);
    const result = await client.callTool({ name: tool, arguments: args });
    for (const block of result.content) {
      if (block.type !== 'text') continue;
      const text = block.text.replace(/^/gm, '   ');
      process.stdout.write(`${result.isError ? styleText('yellow', text) : text}\n`);
    }
    if ((outcome === 'fails') !== Boolean(result.isError)) throw new Error(`${tool} should not have ended like this.`);
    return (result.structuredContent ?? {}) as Record<string, unknown>;
  };

  await show('Which queues are there, and how much is left in them?', 'list_queues', {});

  const page = await show('What is waiting in one of them, newest first, and what is it about?', 'query_queue_items', {
    queue_id: 'support-triage',
    filter: { annotation_states: ['unstarted'] },
    sort_by: [{ field: 'call_started_at', direction: 'desc' }],
    limit: 3,
    include_position: true,
    include_call: true,
  });
  const items = page.items as { id: string; call_values: Record<string, unknown> }[];

  await show(
    'A second opinion on the first, with the stored prompt "triage". The built-in model only echoes.',
    'run_inference',
    {
      model: 'heddle/echo',
      prompt: 'weave:///demo/support/object/triage:latest',
      template_vars: { product: 'the mobile app', question: items[0]?.call_values['inputs.question'] },
    },
  );

  const judged = {
    queue_id: 'support-triage',
    items: items.map(({ id }, index) => ({
      item_id: id,
      annotation_state: index === 2 ? 'skipped' : 'completed',
      feedback: { name: 'helpful', value: index === 0 },
      expected_state: 'unstarted',
    })),
  };
  await show('The judgements, all in one call.', 'update_queue_items', judged);
  await show('The same once more changes nothing.', 'update_queue_items', judged);

  await show('What can an evaluation be made of?', 'list_objects', { kind: 'dataset' });
  await show('An evaluation of that dataset with two scorers.', 'create_evaluation', {
    name: 'Support answers',
    dataset: 'weave:///demo/support/object/tickets:latest',
    scorers: ['weave:///demo/support/object/helpfulness:latest', 'weave:///demo/support/object/tone:latest'],
  });

  await show('A mistake, to see what an agent is told.', 'query_queue_items', { queue: 'support-triage' }, 'fails');
}

/** An environment in which the person's own settings are not found: the demo never talks to a real service. */
function isolated(folder: string): Record<string, string> {
  const homes = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'];
  return { PATH: process.env.PATH ?? '', ...Object.fromEntries(homes.map((name) => [name, folder])) };
}

function say(text: string): void {
  process.stdout.write(`${styleText('bold', text)}\n`);
}
