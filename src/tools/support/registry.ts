import { HeddleError } from '../../core/errors.ts';
import type { JsonSchema } from './arguments.ts';
import listed from './listed.json' with { type: 'json' };
import type { Tool } from './tool.ts';

/** A tool as clients see it, before it is first called. */
export interface ListedTool extends Pick<Tool, 'name' | 'title' | 'description' | 'groups' | 'uses' | 'hints'> {
  inputJsonSchema: JsonSchema;
  outputJsonSchema: JsonSchema;
  /** The tool itself. All tools are loaded together, when first needed. */
  load: () => Promise<Tool>;
}

let allTools: readonly Tool[] | undefined;

/**
 * Every tool, in the order in which clients see them. What is listed is generated from the tools: a server that is only
 * asked for its list, as at every start, does without the tools, their schemas and the client of the service.
 */
export const tools: readonly ListedTool[] = (listed as unknown as Omit<ListedTool, 'load'>[]).map((tool) => ({
  ...tool,
  load: async () => {
    allTools ??= (await import('../index.ts')).allTools;
    return allTools.find(({ name }) => name === tool.name)!;
  },
}));

/**
 * The tools on offer: all, or those that `only` names itself or by a group, and with `readOnly` only those that change
 * nothing.
 * @throws HeddleError `not_configured` for a name that is neither a tool nor a group.
 */
export function selectTools({ readOnly, only }: { readOnly: boolean; only?: readonly string[] }): ListedTool[] {
  const names = [...new Set(tools.flatMap(({ groups }) => groups)), ...tools.map(({ name }) => name)] as string[];
  const unknown = only?.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new HeddleError({
      code: 'not_configured',
      message: `HEDDLE_TOOLS or --tools names "${unknown}", which is neither a tool nor a group.`,
      hint: `Known are ${names.join(', ')}.`,
    });
  }
  return tools.filter(
    ({ name, groups, hints }) =>
      (!readOnly || hints.readOnlyHint) &&
      (!only || only.includes(name) || groups.some((group) => only.includes(group))),
  );
}
