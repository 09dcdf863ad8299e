import { HeddleError } from '../core/errors.ts';

/** A message of a prompt, whatever else it has. */
export type TemplateMessage = Record<string, unknown>;

const placeholder = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

/** Returns the strings of messages in which placeholders are filled: all but those of the assistant. */
function templateStrings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(templateStrings);
}

function textsOf(messages: readonly unknown[]): string[] {
  return messages.flatMap((message) =>
    (message as { role?: unknown } | null)?.role === 'assistant' ? [] : templateStrings(message),
  );
}

/**
 * Returns the names of the placeholders `{name}` in messages.
 * @throws HeddleError `invalid_arguments` for a brace that belongs to none and is not doubled.
 */
export function placeholdersOf(messages: readonly unknown[], argument: string): string[] {
  const names = new Set<string>();
  for (const text of textsOf(messages)) {
    for (const [found, name] of text.matchAll(placeholder)) {
      if (name !== undefined) names.add(name);
      else if (found.length === 1) throw loneBrace(found, argument);
    }
  }
  return [...names];
}

function loneBrace(brace: string, argument: string): HeddleError {
  const msg = `Lone ${brace} in a message`;
  return new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was started: ${argument} has a lone ${brace}.`,
    hint: `Write ${brace}${brace} for a literal brace, and {column} for a value of the row.`,
    detail: [{ loc: ['arguments', argument], msg, type: 'value_error' }],
  });
}

/** Returns the number of characters of messages after their placeholders were filled from a row. */
export function filledChars(messages: readonly unknown[], row: Readonly<Record<string, unknown>>): number {
  const all = messages.reduce<number>((sum, message) => sum + (JSON.stringify(message) ?? '').length, 0);
  let added = 0;
  for (const text of textsOf(messages)) {
    for (const [found, name] of text.matchAll(placeholder)) {
      if (name === undefined || !Object.hasOwn(row, name)) continue;
      const value = row[name];
      added += (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).length - found.length;
    }
  }
  return all + added;
}
