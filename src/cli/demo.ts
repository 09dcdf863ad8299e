import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Client } from '@modelcontextprotocol/client';
import type { Command } from 'commander';

/** One step of the story: what an agent wants, and the call it makes. */
interface Step {
  says: string;
  tool: string;
  arguments: Record<string, unknown>;
}

const steps: readonly Step[] = [
  {
    says: 'What is waiting in the queue "support-triage", newest first?',
    tool: 'query_queue_items',
    arguments: {
      queue_id: 'support-triage',
      filter: { annotation_states: ['unstarted'] },
      sort_by: [{ field: 'call_started_at', direction: 'desc' }],
      limit: 3,
      include_position: true,
    },
  },
  {
    says: 'Ask the built-in model with the stored prompt "triage" and two template variables.',
    tool: 'run_inference',
    arguments: {
      model: 'heddle/echo',
      prompt: 'weave:///demo/support/object/triage:latest',
      template_vars: { product: 'the mobile app', question: 'How do I export my data?' },
    },
  },
  {
    says: 'Set up an evaluation of the dataset "tickets" with two scorers.',
    tool: 'create_evaluation',
    arguments: {
      name: 'Support answers',
      dataset: 'weave:///demo/support/object/tickets:latest',
      scorers: ['weave:///demo/support/object/helpfulness:latest', 'weave:///demo/support/object/tone:latest'],
    },
  },
  {
    says: 'A mistake, to see what an agent is told.',
    tool: 'query_queue_items',
    arguments: { queue: 'support-triage' },
  },
];

/** `heddle demo`: the main job end to end, by a real MCP client on a real server with its data in a folder of its own. */
export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('show the three jobs on the embedded service, step by step, through a real MCP client')
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
        for (const [index, step] of steps.entries()) await show(client, index + 1, step);
        const files = await readdir(folder);
        say(`On disk meanwhile: ${files.join(', ')}. The folder is removed now.`);
      } finally {
        await client.close();
        await rm(folder, { recursive: true, force: true });
      }
      say('Next: connect your own client, see "Connect" in README.md.');
    });
}

/** An environment in which the person's own settings are not found: the demo never talks to a real service. */
function isolated(folder: string): Record<string, string> {
  const homes = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'];
  return { PATH: process.env.PATH ?? '', ...Object.fromEntries(homes.map((name) => [name, folder])) };
}

async function show(client: Client, number: number, { says, tool, arguments: args }: Step): Promise<void> {
  say(`\n${number}. ${says}`);
  process.stdout.write(`${style('cyan', `   ${tool} ${JSON.stringify(args)}`)}\n`);
  const result = await client.callTool({ name: tool, arguments: args });
  for (const block of result.content) {
    if (block.type !== 'text') continue;
    const text = block.text.replace(/^/gm, '   ');
    process.stdout.write(`${result.isError ? style('yellow', text) : text}\n`);
  }
}

function say(text: string): void {
  process.stdout.write(`${style('bold', text)}\n`);
}

/** Colour on a terminal only; NO_COLOR is honoured by the stream's own colour depth. */
function style(format: 'bold' | 'cyan' | 'yellow', text: string): string {
  return process.stdout.isTTY && process.stdout.hasColors() && !process.env.NO_COLOR ? styleText(format, text) : text;
}
