import { Refusal } from '../../core/http/refusal.ts';

/**
 * Replaces `{name}` with the value of a variable in every string of every message except the assistant's; `{{` and `}}`
 * stand for braces. A value that is not a string is written as JSON, and no value is searched for placeholders.
 * @returns the messages unchanged when there are no variables.
 * @throws Refusal 400 for an unknown name or a lone brace.
 */
export function applyTemplateVariables(messages: unknown[], variables: Record<string, unknown> | undefined): unknown[] {
  if (!variables || Object.keys(variables).length === 0) return messages;
  return messages.map((message) => {
    const { role } = (message ?? {}) as { role?: unknown };
    return role === 'assistant' ? message : fillValue(message, variables);
  });
}

function fillValue(value: unknown, variables: Record<string, unknown>): unknown {
  if (typeof value === 'string') return fillString(value, variables);
  if (Array.isArray(value)) return value.map((element) => fillValue(element, variables));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fillValue(member, variables)]));
}

function fillString(text: string, variables: Record<string, unknown>): string {
  return text.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (found, name: string | undefined) => {
    if (found === '{{' || found === '}}') return found[0]!;
    if (name === undefined) {
      throw new Refusal(400, `Lone ${found} in a message: write ${found}${found} for a literal brace`);
    }
    if (!Object.hasOwn(variables, name)) {
      const known = Object.keys(variables).sort().join(', ');
      throw new Refusal(400, `Missing template variable ${name}; known variables: ${known}`);
    }
    const value = variables[name];
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}
