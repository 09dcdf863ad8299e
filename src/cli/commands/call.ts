import { text } from 'node:stream/consumers';
import { Argument, type Command, Help, Option } from 'commander';
import { InexactNumberError, parseExactJson } from '../../core/json/json-numbers.ts';
import { callTool, parseErrorText } from '../../mcp/call-tool.ts';
import { openRuntime } from '../../runtime/runtime.ts';
import { tools } from '../../tools/definition/registry.ts';
import { runtimeOptions } from '../access/secrets.ts';
import { invocation, withInterrupt } from '../invocation.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../terminal/output-form.ts';
import { printAligned, printJson, printText } from '../terminal/print.ts';
import { showProgress } from '../terminal/progress.ts';
import { reportToolError, UsageError } from '../terminal/report-failure.ts';
import { describeTool } from '../usage/describe-tool.ts';
import { addSettingFlags, runtimeFlags, settingsOf } from '../usage/flags.ts';
import { completeWith, explain } from '../usage/help.ts';
import { toolNames, unknownTool } from '../usage/tool-names.ts';

export function addCall(program: Command): void {
  const call = program
    .command('call')
    .description('call one tool, and print its result')
    .addArgument(
      completeWith(new Argument('<tool>', 'name of the tool; `heddle call TOOL --help` describes it'), toolNames),
    )
    .argument('[arguments]', 'arguments as a JSON object, or - to read them from stdin', '{}');
  addOutputOptions(call).addOption(
    new Option('--text', 'print the text exactly as a model reads it').conflicts(['json', 'table']),
  );
  const described = () => tools.find(({ name }) => name === call.args[0]);
  call.configureHelp({
    ...call.configureHelp(),
    formatHelp: (command, helper) => {
      const tool = described();
      return tool ? `${describeTool(tool, helper.helpWidth ?? 80)}\n` : new Help().formatHelp(command, helper);
    },
  });
  explain(
    call,
    {
      examples: [
        'heddle call list_queues',
        'heddle call query_queue_items \'{"queue_id":"support-triage","limit":5,"include_call":true}\'',
        'heddle call --text list_queues       # what a model reads',
        'heddle call create_queue - < queue.json',
      ],
      page: 'docs/tools.md, docs/errors.md',
    },
    () => described() !== undefined,
  );
  addSettingFlags(call, runtimeFlags).action((name: string, json: string, form: ResultForm) =>
    runCall(call, { name, json, form }),
  );
}

/** How a command prints the result of a tool. */
export interface ResultForm extends OutputForm {
  text?: true;
}

interface ToolCall {
  name: string;
  /** The arguments, or `-` for those on stdin. */
  json: string;
  form: ResultForm;
}

/** Calls a tool with the settings of a command, prints the result or the error, and sets the exit code. */
export async function runCall(call: Command, { name, json, form }: ToolCall): Promise<void> {
  const current = invocation();
  const settings = settingsOf(call);
  const runtime = openRuntime(settings, runtimeOptions(settings));
  const { serverOptions } = runtime;
  const tool = serverOptions.tools.find((candidate) => candidate.name === name);
  if (!tool) throw unknownTool(name, serverOptions.tools);
  const args = parseArgumentsText(json === '-' ? await text(current.stdin) : json);
  const context = {
    ask: () => 'cannot' as const,
    progress: (_done: number, message: string) => showProgress(message),
  };
  const result = await withInterrupt((signal) => callTool(tool, args, { ...context, signal }, serverOptions)).finally(
    () => showProgress(''),
  );
  const [block] = result.content;
  const read = block?.type === 'text' ? block.text : '';
  if (result.isError && form.text) printText(read);
  else if (result.isError) reportToolError(parseErrorText(read));
  else printResult(result.structuredContent ?? {}, read, form);
  await runtime.close();
  current.exitCode = result.isError ? 1 : 0;
}

function printResult(structured: object, read: string, form: ResultForm): void {
  if (form.text) printText(read);
  else if (isForPeople(form)) printAligned(read);
  else printJson(structured);
}

function parseArgumentsText(json: string): unknown {
  try {
    return parseExactJson(json);
  } catch (error) {
    if (error instanceof InexactNumberError) throw new UsageError(`invalid arguments: ${error.message}`);
    throw new UsageError(`the arguments are not valid JSON: ${(error as Error).message}`);
  }
}
