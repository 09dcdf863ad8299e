/** Returns the messages of a stored prompt; undefined for any other value. */
export function messagesOfPrompt(val: unknown): unknown[] | undefined {
  const { messages, content } = Object(val) as { messages?: unknown; content?: unknown };
  if (Array.isArray(messages)) return messages;
  return typeof content === 'string' ? [{ role: 'user', content }] : undefined;
}

/**
 * Replaces the placeholders `{name}` of a text; `{{` and `}}` stand for braces. No value is searched for placeholders.
 * @param loneBrace is called for a brace that belongs to no placeholder and is not doubled; it throws, or returns what to put there.
 */
export function fillPlaceholders(
  text: string,
  textOf: (name: string) => string,
  loneBrace: (brace: string) => string,
): string {
  return text.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (found, name: string | undefined) => {
    if (name !== undefined) return textOf(name);
    return found.length === 2 ? found[0]! : loneBrace(found);
  });
}

/** Returns the strings of messages in which placeholders are filled: all but those of the assistant. */
export function templateTexts(messages: readonly unknown[]): string[] {
  return messages.flatMap((message) =>
    (Object(message) as { role?: unknown }).role === 'assistant' ? [] : textsIn(message),
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Returns the names of the placeholders of texts, in their order and each once, and a lone brace if there is one. */
export function findPlaceholders(texts: readonly string[]): { names: string[]; loneBrace: string | undefined } {
  const names = new Set<string>();
  let loneBrace: string | undefined;
  for (const text of texts) {
    fillPlaceholders(
      text,
      (name) => {
        names.add(name);
        return '';
      },
      (brace) => {
        loneBrace ??= brace;
        return '';
      },
    );
  }
  return { names: [...names], loneBrace };
}
