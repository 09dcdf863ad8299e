import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Client } from '@modelcontextprotocol/client';
import type { Command } from 'commander';
import { connectToServer } from '../../support/connect-to-server.ts';
import { printLine } from '../../support/print.ts';
import { findSdk, recordedProject, recordWithSdk } from './record-with-sdk.ts';
import recordedSteps from './recorded-steps.json' with { type: 'json' };
import steps from './steps.json' with { type: 'json' };

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
    const environment = isolatedEnvironment(folder);
    const client = await connectToServer('heddle-demo', ['--data-dir', folder], environment);
    try {
      const { tools } = await client.listTools();
      printHeading(`The server offers ${tools.map(({ name }) => name).join(', ')}.`);
      await runSteps(client, steps);
      const sdk = findSdk(process.cwd());
      if (sdk !== undefined) {
        printHeading(`\nA program with npm weave, which is installed here, records two calls in ${recordedProject}.`);
        await recordWithSdk(sdk, folder, environment);
        await runSteps(client, recordedSteps, steps.length);
      }
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

/** A tool call of the demo. */
interface Step {
  title: string;
  tool: string;
  arguments: object;
  isErrorExpected?: boolean;
}

/**
 * Makes tool calls. `ITEM_1` in their arguments stands for the id of the first item that an earlier step read, `QUEUE` for the
 * queue that one created.
 */
async function runSteps(client: Client, calls: readonly Step[], numberedFrom = 0): Promise<void> {
  let itemIds: string[] = [];
  let queueId = '';
  for (const [index, { title, tool, arguments: template, isErrorExpected = false }] of calls.entries()) {
    const json = JSON.stringify(template)
      .replaceAll(/ITEM_(\d)/g, (_, position) => itemIds[position - 1]!)
      .replaceAll('QUEUE', queueId);
    printHeading(`\n${numberedFrom + index + 1}. ${title}`);
    printLine(styleText('cyan', `   ${tool} ${json}`));
    const result = await client.callTool({ name: tool, arguments: JSON.parse(json) });
    for (const block of result.content) {
      if (block.type !== 'text') continue;
      const text = block.text.replace(/^/gm, '   ');
      printLine(result.isError ? styleText('yellow', text) : text);
    }
    if (Boolean(result.isError) !== isErrorExpected) throw new Error(`Unexpected result of ${tool}`);
    const { items, queue_id = queueId } = (result.structuredContent ?? {}) as {
      items?: { id: string }[];
      queue_id?: string;
    };
    queueId = queue_id;
    if (tool === 'query_queue_items' && items) itemIds = items.map(({ id }) => id);
  }
}

/** Returns an environment without the user's settings, so that the demo never reaches a real service. */
function isolatedEnvironment(folder: string): Record<string, string> {
  const homes = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'];
  return { PATH: process.env.PATH ?? '', ...Object.fromEntries(homes.map((name) => [name, folder])) };
}

function printHeading(text: string): void {
  printLine(styleText('bold', text));
}
