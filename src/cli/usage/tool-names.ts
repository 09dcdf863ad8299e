import { tools } from '../../tools/definition/registry.ts';
import { didYouMean, UsageError } from '../terminal/report-failure.ts';

/** Returns the names of all tools. */
export function toolNames(): string[] {
  return tools.map(({ name }) => name);
}

/** Returns the error for a tool that is not offered; it names the nearest one. */
export function unknownTool(name: string, offered: readonly { name: string }[]): UsageError {
  const names = offered.map((tool) => tool.name);
  if (toolNames().includes(name)) {
    return new UsageError(
      `the tool ${name} is switched off by HEDDLE_READ_ONLY or HEDDLE_TOOLS; available tools: ${names.join(', ')}`,
    );
  }
  return new UsageError(`unknown tool '${name}'${didYouMean(name, names)}; available tools: ${names.join(', ')}`);
}
