import { Argument, type Command } from 'commander';
import { toMcpTool } from '../../mcp/server-facts.ts';
import { compactTable } from '../../text/compact-table.ts';
import { type ListedTool, selectTools } from '../../tools/definition/registry.ts';
import { withProgramName } from '../invocation.ts';
import { minTableWidth } from '../terminal/aligned-table.ts';
import { addOutputOptions, isForPeople, type OutputForm } from '../terminal/output-form.ts';
import { printAligned, printJson, printLine } from '../terminal/print.ts';
import { resultWidth } from '../terminal/terminal.ts';
import { describeTool } from '../usage/describe-tool.ts';
import { addSettingFlags, settingsOf } from '../usage/flags.ts';
import { completeWith, explain } from '../usage/help.ts';
import { requireTool, toolNames } from '../usage/tool-names.ts';

export function addTools(program: Command): void {
  const command = program
    .command('tools')
    .description('list the tools, or describe one with its arguments; as JSON, everything that clients see')
    .addArgument(completeWith(new Argument('[tool]', 'the tool to describe'), toolNames));
  addOutputOptions(command);
  explain(command, {
    examples: ['heddle tools', 'heddle tools query_queue_items', 'heddle tools --json'],
    page: 'docs/tools.md',
  });
  addSettingFlags(command, ['profile', 'readOnly', 'tools']).action((name: string | undefined, form: OutputForm) => {
    const { readOnly, tools: only } = settingsOf(command).values;
    const tools = selectTools({ readOnly, only });
    if (name !== undefined) {
      const tool = requireTool(name, tools);
      return isForPeople(form) ? printLine(describeTool(tool, resultWidth())) : printJson(toMcpTool(tool));
    }
    if (!isForPeople(form)) return printJson(tools.map(toMcpTool));
    printAligned(compactTable(tools.map(rowOf), ['tool']));
    printLine(
      withProgramName('\n`heddle tools TOOL` describes a tool with its arguments, `heddle call TOOL` calls it.'),
    );
  });
}

function rowOf({ name, title, groups, hints }: ListedTool): Record<string, string> {
  const shownGroups = resultWidth() >= minTableWidth && { groups: groups.join(', ') };
  return { tool: name, purpose: title, ...shownGroups, 'changes data': hints.readOnlyHint ? 'no' : 'yes' };
}
