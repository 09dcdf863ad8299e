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
  throw new UsageError(`unknown tool '${name}'${didYouMean(name, names)}; available tools: ${names.join(', ')}`);
}
