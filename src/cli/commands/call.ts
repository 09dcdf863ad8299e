import { text } from 'node:stream/consumers';
import { Argument, type Command, Help, Option } from 'commander';
import { InexactNumberError, parseExactJson } from '../../core/json/json-numbers.ts';
import { errorText, runTool, type ToolOutcome, type ToolReturn } from '../../mcp/run-tool.ts';
import type { McpServerOptions } from '../../mcp/server.ts';
import { InputRequired } from '../../mcp/watch-call.ts';
import { type ListedTool, tools } from '../../tools/definition/registry.ts';
import { withRuntime } from '../access/with-runtime.ts';
import { invocation } from '../invocation.ts';
import { confirmChange } from '../terminal/confirm-change.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../terminal/output-form.ts';
import { escapeControls, printAligned, printJson, printLine, printText } from '../terminal/print.ts';
import { drawProgress, showProgress } from '../terminal/progress.ts';
import { reportToolError, UsageError } from '../terminal/report-failure.ts';
import { isInteractive } from '../terminal/terminal.ts';
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
    const outcome = await runAndAsk(tool, parseArgumentsText(typed), signal, options);
    showProgress('');
    if (outcome === undefined) return printLine('Nothing was changed.');
    if (!('error' in outcome)) printResult(outcome, form);
    else if (form.text) printText(errorText(outcome.error));
    else reportToolError(outcome.error);
    const isIncomplete = 'error' in outcome || (await tool.load()).isIncomplete?.(outcome.data);
    current.exitCode = isIncomplete ? 1 : 0;
  });
}

/** Runs a tool, and asks the person at the terminal what it asks. Returns undefined if they decline. */
async function runAndAsk(
  tool: ListedTool,
  args: unknown,
  signal: AbortSignal,
  options: McpServerOptions,
): Promise<ToolOutcome | undefined> {
  const agreed = new Set<string>();
  const ask = (question: string): 'yes' | 'cannot' => {
    if (agreed.has(question)) return 'yes';
    if (!isInteractive()) return 'cannot';
    throw new InputRequired(question);
  };
  for (;;) {
    try {
      return await runTool(tool, args, { signal, progress: drawProgress, ask }, options);
    } catch (error) {
      if (!(error instanceof InputRequired)) throw error;
      showProgress('');
      if (!(await confirmChange(escapeControls(error.question), {}))) return undefined;
      agreed.add(error.question);
    }
  }
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
