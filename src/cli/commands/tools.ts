import type { Command } from 'commander';
import { toMcpTool } from '../../mcp/server.ts';
import { type ListedTool, selectTools } from '../../tools/support/registry.ts';
import { addSettingFlags, settingsOf } from '../support/flags.ts';
import { printJson, printLine } from '../support/print.ts';

export function addTools(program: Command): void {
  const command = program
    .command('tools')
    .description('list the tools with their arguments and hints')
    .option('--json', 'print everything that clients see, as JSON');
  addSettingFlags(command, ['profile', 'readOnly', 'tools']).action(({ json }: { json?: true }) => {
    const { readOnly, tools: only } = settingsOf(command).values;
    const tools = selectTools({ readOnly, only });
    if (json) return printJson(tools.map(toMcpTool));
    for (const tool of tools) printLine(formatTool(tool));
    printLine('* required. `heddle tools --json` prints the schemas.');
  });
}

function formatTool({ name, title, description, inputJsonSchema, hints }: ListedTool): string {
  const { properties = {}, required = [] } = inputJsonSchema as { properties?: object; required?: string[] };
  const argumentNames = Object.keys(properties).map((key) => (required.includes(key) ? `${key}*` : key));
  const trueHints = Object.entries(hints).flatMap(([hint, value]) => (value ? [hint] : []));
  const lines = [
    `${name}: ${title}`,
    ...description.split('\n'),
    `Arguments: ${argumentNames.join(', ')}`,
    `Hints: ${trueHints.join(', ') || 'none'}`,
  ];
  return `${lines.join('\n  ')}\n`;
}
