import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { InexactNumberError, parseExactJson } from '../../core/json-numbers.ts';
import { callTool, parseErrorText } from '../../mcp/call-tool.ts';
import { openRuntime } from '../../runtime/runtime.ts';
import { addSettingFlags, runtimeFlags, settingsOf } from '../support/flags.ts';
import { printLine } from '../support/print.ts';
import { showProgress } from '../support/progress.ts';
import { UsageError } from '../support/report-failure.ts';
import { runtimeOptions } from '../support/secrets.ts';

export function addCall(program: Command): void {
  const call = program
    .command('call')
    .description('call one tool and print its structured result as JSON, or what a model reads')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments]', 'arguments as a JSON object, or - to read them from stdin', '{}');
  addSettingFlags(call, runtimeFlags)
    .option('--text', 'print the text that a model reads instead of JSON')
    .action((name: string, json: string, { text: asText = false }) => runCall(call, { name, json, asText }));
}

interface ToolCall {
  name: string;
  /** The arguments, or `-` for those on stdin. */
  json: string;
  asText: boolean;
}

async function runCall(call: Command, { name, json, asText }: ToolCall): Promise<void> {
  const settings = settingsOf(call);
  const runtime = openRuntime(settings, runtimeOptions(settings));
  const { serverOptions } = runtime;
  const tool = serverOptions.tools.find((candidate) => candidate.name === name);
  if (!tool) {
    const names = serverOptions.tools.map((candidate) => candidate.name).join(', ');
    throw new UsageError(`unknown tool '${name}'; available tools: ${names}`);
  }
  const args = parseArgumentsText(json === '-' ? await text(process.stdin) : json);
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  const context = {
    signal: abort.signal,
    ask: () => 'cannot' as const,
    progress: (_done: number, message: string) => showProgress(message),
  };
  const result = await callTool(tool, args, context, serverOptions);
  showProgress('');
  const [block] = result.content;
  const read = block?.type === 'text' ? block.text : '';
  const printed = result.isError
    ? JSON.stringify(parseErrorText(read))
    : JSON.stringify(result.structuredContent, null, 2);
  printLine(asText ? read : printed);
  await runtime.close();
  process.exitCode = result.isError ? 1 : 0;
}

function parseArgumentsText(json: string): unknown {
  try {
    return parseExactJson(json);
  } catch (error) {
    if (error instanceof InexactNumberError) throw new UsageError(`invalid arguments: ${error.message}`);
    throw new UsageError(`the arguments are not valid JSON: ${(error as Error).message}`);
  }
}
