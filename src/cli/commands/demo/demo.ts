import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { type Command, Option } from 'commander';
import { HeddleError } from '../../../core/errors.ts';
import { loadSqlite } from '../../../service/start-service.ts';
import { connectToServer, ownServer } from '../../access/connect-to-server.ts';
import { invocation, programName } from '../../invocation.ts';
import { alignTables } from '../../terminal/aligned-table.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../../terminal/output-form.ts';
import { escapeControls, printLine } from '../../terminal/print.ts';
import { paint, resultWidth } from '../../terminal/terminal.ts';
import { explain } from '../../usage/help.ts';
import allSteps from './steps.json' with { type: 'json' };

/** Returns the commands to go on with; the last one, above the prompt, is the first to try. */
const nextSteps = (program: string, isShort: boolean): string =>
  [
    ...(isShort ? [`See all steps: ${program} demo --all`] : []),
    `Connect a client that docs/connect.md names: ${program} setup CLIENT`,
    `Judge the rest yourself: ${program} board support-triage --project demo/support`,
  ].join('\n');

export function addDemo(program: Command): void {
  const demo = addOutputOptions(
    program
      .command('demo')
      .description('triage a sample queue on the embedded service, step by step, through a real MCP client'),
  )
    .addOption(new Option('--text', 'print all steps as the text that a model reads').conflicts(['json', 'table']))
    .option('--all', 'every step, the default in a pipe or a file');
  explain(demo, { examples: ['heddle demo', 'heddle demo --all', 'heddle demo --text'], page: 'README.md' });
  demo.action(async ({ text, all, ...form }: OutputForm & { text?: true; all?: true }) => {
    // Says what is missing before anything is started.
    await loadSqlite();
    const current = invocation();
    const { control, stderr, stdout } = current;
    const stop = new AbortController();
    let exitCode: number | undefined;
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
      ['SIGHUP', 129],
    ] as const) {
      control.once(signal, () => {
        exitCode = code;
        stop.abort();
      });
    }
    // A reader that closes its pipe must not end the process before the folder is removed.
    current.isChanging = true;
    stdout.once('error', () => {
      exitCode = 0;
      stop.abort();
    });
    const isShort = !text && !all && isForPeople(form);
    const steps: readonly Step[] = allSteps;
    try {
      await runDemo({
        print: text ? printText : isForPeople(form) ? printTables : printJsonLine,
        steps: isShort ? steps.filter((step) => step.isEssential) : steps,
        signal: stop.signal,
      });
      if (text || isForPeople(form)) printLine(paint('bold', `\n${nextSteps(programName(), isShort)}`));
    } catch (error) {
      if (exitCode === undefined) throw error;
      if (exitCode !== 0) stderr.write('heddle: the demo was cut off; its folder is removed.\n');
      current.exitCode = exitCode;
    }
  });
}

/** Prints a heading, or a tool call with its result. */
type Printer = (printed: string | DoneStep) => void;

/** A tool call that was made. */
interface DoneStep {
  step: number;
  title: string;
  tool: string;
  arguments: object;
  is_error: boolean;
  /** The text that a model reads. */
  text: string;
  result?: object | undefined;
}

interface DemoOptions {
  print: Printer;
  steps: readonly Step[];
  /** Aborts when the person cuts the demo off. */
  signal: AbortSignal;
}

async function runDemo(options: DemoOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-demo-'));
  const { print, signal } = options;
  try {
    print(`A client starts \`heddle serve\`; its embedded service keeps its data in ${folder}`);
    const environment = isolatedEnvironment(folder);
    const client = await connectToServer('heddle-demo', ownServer(['--data-dir', folder], environment));
    try {
      signal.throwIfAborted();
      const { tools } = await client.listTools();
      print(`The server offers ${tools.map(({ name }) => name).join(', ')}.`);
      await runSteps(client, options);
      const files = await readdir(folder);
      print(
        `\nThe data folder now holds ${files.join(', ')}. It was made for the demo and is removed; your own data stays as it is.`,
      );
    } finally {
      await client.close();
    }
  } finally {
    // A server that a signal ends as well may still write.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

const indent = '   ';

/** A tool call of the demo. */
interface Step {
  title: string;
  tool: string;
  arguments: object;
  isErrorExpected?: boolean;
  /** Also shown on a terminal, where few steps are read. */
  isEssential?: boolean;
}

/**
 * Makes tool calls. `ITEM_1` in their arguments stands for the id of the first item that an earlier step read, `QUEUE` for the
 * queue that one created, `RUN` for the run of an evaluation that one started.
 */
async function runSteps(client: Client, { print, steps, signal }: DemoOptions): Promise<void> {
  let itemIds: string[] = [];
  let queueId = '';
  let runId = '';
  for (const [index, { title, tool, arguments: template, isErrorExpected = false }] of steps.entries()) {
    const json = JSON.stringify(template)
      .replaceAll(/ITEM_(\d)/g, (_, position) => itemIds[position - 1]!)
      .replaceAll('QUEUE', queueId)
      .replaceAll('RUN', runId);
    const args: Record<string, unknown> = JSON.parse(json);
    const result = await client.callTool({ name: tool, arguments: args }, { signal });
    const read = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    const isError = Boolean(result.isError);
    print({
      step: index + 1,
      title,
      tool,
      arguments: args,
      is_error: isError,
      text: read,
      result: result.structuredContent as object | undefined,
    });
    if (isError !== isErrorExpected) {
      const hint = 'Run it once more. If it fails again, report it with this message.';
      throw new HeddleError({ code: 'internal', message: `The demo cannot continue after ${tool}: ${read}`, hint });
    }
    const data = (result.structuredContent ?? {}) as { items?: { id: string }[]; queue_id?: string; run_id?: string };
    const { items } = data;
    queueId = data.queue_id ?? queueId;
    runId = data.run_id ?? runId;
    if (tool === 'query_queue_items' && items) itemIds = items.map(({ id }) => id);
  }
}

/** Returns an environment without the user's settings, so that the demo never reaches a real service. */
function isolatedEnvironment(folder: string): Record<string, string> {
  const homes = ['HOME', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME'];
  return { PATH: invocation().environment.PATH ?? '', ...Object.fromEntries(homes.map((name) => [name, folder])) };
}

const printTables: Printer = (printed) =>
  printForPeople(printed, ({ text }) => alignTables(escapeControls(text), resultWidth() - indent.length));

const printText: Printer = (printed) => printForPeople(printed, ({ text }) => escapeControls(text));

/** Prints a tool call as a line of JSON. Headings are for people. */
function printJsonLine(printed: string | DoneStep): void {
  if (typeof printed !== 'string') printLine(JSON.stringify(printed));
}

function printForPeople(printed: string | DoneStep, resultOf: (done: DoneStep) => string): void {
  if (typeof printed === 'string') {
    printLine(paint('bold', printed));
    return;
  }
  const { step, title, tool, arguments: args, is_error } = printed;
  const shown = resultOf(printed).replace(/^/gm, indent);
  printLine(paint('bold', `\n${step}. ${title}`));
  printLine(paint('cyan', `${indent}${tool} ${JSON.stringify(args)}`));
  printLine(is_error ? paint('yellow', shown) : shown);
}
