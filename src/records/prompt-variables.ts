/**
 * Returns the names of the `{name}` placeholders of a text, in their order, or a sentence that says what is wrong with its
 * braces. `{{` and `}}` stand for braces.
 */
export function promptVariables(text: string): string[] | string {
  const names = new Set<string>();
  for (const [found, name] of text.matchAll(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g)) {
    if (name !== undefined) names.add(name);
    else if (found.length === 1) return `has a lone ${found}; write ${found}${found} for a brace`;
  }
  return [...names];
}
