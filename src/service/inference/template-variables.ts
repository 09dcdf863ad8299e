import { refusal } from '../http/refusal.ts';

/**
 * Puts values in the place of `{name}` in every string of every message but the assistant's (interface 4.2); `{{` and `}}`
 * stand for braces. Values are strings as they are and JSON text otherwise, and are not searched for placeholders. Without
 * any variable the messages stay as they are. Refuses an unknown name and a lone brace with status 400.
 */
export function applyTemplateVars(messages: unknown[], vars: Record<string, unknown> | undefined): unknown[] {
  if (!vars || Object.keys(vars).length === 0) return messages;
  return messages.map((message) => {
    const { role } = (message ?? {}) as { role?: unknown };
    return role === 'assistant' ? message : fill(message, vars);
  });
}

function fill(value: unknown, vars: Record<string, unknown>): unknown {
  if (typeof value === 'string') return fillText(value, vars);
  if (Array.isArray(value)) return value.map((element) => fill(element, vars));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fill(member, vars)]));
}

function fillText(text: string, vars: Record<string, unknown>): string {
  return text.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (found, name: string | undefined) => {
    if (found === '{{' || found === '}}') return found[0]!;
    if (name === undefined)
      throw refusal(400, `Lone ${found} in a message: write ${found}${found} for a literal brace`);
    if (!Object.hasOwn(vars, name)) {
      throw refusal(400, `Missing template variable ${name}; known variables: ${Object.keys(vars).sort().join(', ')}`);
    }
    const value = vars[name];
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}
