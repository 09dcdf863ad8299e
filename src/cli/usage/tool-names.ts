import { meantName } from '../../text/names.ts';
import { tools } from '../../tools/definition/registry.ts';
import { didYouMean, UsageError } from '../terminal/report-failure.ts';

/** Returns the names of all tools. */
export function toolNames(): string[] {
  return tools.map(({ name }) => name);
}

/** Returns a tool of those on offer. @throws UsageError for another name, with the nearest one. */
export function requireTool<Tool extends { name: string }>(name: string, offered: readonly Tool[]): Tool {
  const found = offered.find((tool) => tool.name === name);
  if (found) return found;
  const names = offered.map((tool) => tool.name);
  if (toolNames().includes(name)) {
    throw new UsageError(
      `the tool ${name} is switched off by HEDDLE_READ_ONLY or HEDDLE_TOOLS; available tools: ${names.join(', ')}`,
    );
  }
  const meant = didYouMean(name, names) || (meantName(name, ['list']) ? ' (did you mean `heddle tools`?)' : '');
  throw new UsageError(`unknown tool '${name}'${meant}; available tools: ${names.join(', ')}`);
}
