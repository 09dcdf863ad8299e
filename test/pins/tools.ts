import pinned from './tools.json' with { type: 'json' };

/** The tools in the order in which clients see them. `isReadOnly` marks those that change nothing. */
export const pinnedTools: readonly { name: string; groups: readonly string[]; isReadOnly: boolean }[] = pinned.map(
  ({ name, groups, annotations }) => ({ name, groups, isReadOnly: annotations.readOnlyHint }),
);

/** The names of all tools, in order. */
export const toolNames = pinnedTools.map(({ name }) => name);

/** The names of the tools that change nothing, in order. */
export const readOnlyTools = pinnedTools.filter(({ isReadOnly }) => isReadOnly).map(({ name }) => name);
