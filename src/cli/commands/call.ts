import { text } from 'node:stream/consumers';
import { Argument, type Command, Help, Option } from 'commander';
import { InexactNumberError, parseExactJson } from '../../core/json/json-numbers.ts';
import { errorText, runTool, type ToolReturn } from '../../mcp/run-tool.ts';
import { tools } from '../../tools/definition/registry.ts';
import { withRuntime } from '../access/with-runtime.ts';
import { invocation } from '../invocation.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../terminal/output-form.ts';
import { printAligned, printJson, printText } from '../terminal/print.ts';
import { drawProgress, showProgress } from '../terminal/progress.ts';
import { reportToolError, UsageError } from '../terminal/report-failure.ts';
import { describeTool } from '../usage/describe-tool.ts';
import { addSettingFlags, runtimeFlags } from '../usage/flags.ts';
import { completeWith, explain } from '../usage/help.ts';
import { requireTool, toolNames } from '../usage/tool-names.ts';

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

/** The form in which a command prints the result of a tool. */
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
  const typed = json === '-' ? await text(current.stdin) : json;
  await withRuntime(call, async (options, signal) => {
    const tool = requireTool(name, options.tools);
    const outcome = await runTool(tool, parseArgumentsText(typed), { signal, progress: drawProgress }, options);
    showProgress('');
    if (!('error' in outcome)) printResult(outcome, form);
    else if (form.text) printText(errorText(outcome.error));
    else reportToolError(outcome.error);
    const isIncomplete = 'error' in outcome || (await tool.load()).isIncomplete?.(outcome.data);
    current.exitCode = isIncomplete ? 1 : 0;
  });
}

function printResult({ data, text }: ToolReturn, form: ResultForm): void {
  if (form.text) printText(text);
  else if (isForPeople(form)) printAligned(text);
  else printJson(data);
}

function parseArgumentsText(json: string): unknown {
  try {
    return parseExactJson(json);
  } catch (error) {
    if (error instanceof InexactNumberError) throw new UsageError(`invalid arguments: ${error.message}`);
    throw new UsageError(`the arguments are not valid JSON: ${(error as Error).message}`);
  }
}
