import { HeddleError } from '../../core/errors.ts';
import type { JsonSchema } from './arguments.ts';
import listed from './listed.json' with { type: 'json' };
import type { Tool } from './tool.ts';

/** A tool as clients see it. */
export interface ListedTool
  extends Pick<Tool, 'name' | 'title' | 'description' | 'groups' | 'uses' | 'hints' | 'view'> {
  inputJsonSchema: JsonSchema;
  outputJsonSchema: JsonSchema;
  /** Loads the tool itself, together with all other tools. */
  load: () => Promise<Tool>;
}

let loading: Promise<readonly Tool[]> | undefined;

/**
 * Every tool, in the order in which clients see them. The generated list spares a start from loading the tools and their
 * zod schemas.
 */
export const tools: readonly ListedTool[] = (listed as unknown as Omit<ListedTool, 'load'>[]).map((tool) => ({
  ...tool,
  load: async () => {
    // An import takes time even if the module is loaded.
    loading ??= import('../index.ts').then(({ allTools }) => allTools);
    return (await loading).find(({ name }) => name === tool.name)!;
  },
}));

/**
 * Returns the tools to offer: all of them, or those that `only` names by tool or group. `readOnly` keeps the tools that
 * change nothing.
 * @throws HeddleError `not_configured` for a name that is neither a tool nor a group.
 */
export function selectTools({ readOnly, only }: { readOnly: boolean; only?: readonly string[] }): ListedTool[] {
  const names: string[] = [...new Set(tools.flatMap(({ groups }) => groups)), ...tools.map(({ name }) => name)];
  const unknown = only?.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new HeddleError({
      code: 'not_configured',
      message: `HEDDLE_TOOLS or --tools names "${unknown}", which is neither a tool nor a group.`,
      hint: `Valid names are ${names.join(', ')}.`,
    });
  }
  return tools.filter(
    ({ name, groups, hints }) =>
      (!readOnly || hints.readOnlyHint) &&
      (!only || only.includes(name) || groups.some((group) => only.includes(group))),
  );
}
