import { distance } from 'fastest-levenshtein';
import { fillPlaceholders } from '../../contract/prompts.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { ownMember } from '../../core/json/member-at.ts';

/** Maximum number of characters that variables add to all messages; as many bytes as a request may have. */
const maxAddedChars = 32 * 1024 * 1024;
/** Names of variables that an error lists and compares, and the length at which a name in it is cut. */
const maxListedNames = 20;
const maxComparedNames = 1000;
const maxNameChars = 100;

/**
 * Replaces `{name}` with the value of a variable in every string of every message except the assistant's; `{{` and `}}`
 * stand for braces. A value that is not a string is written as JSON, and no value is searched for placeholders.
 * @returns the messages unchanged when `variables` is undefined.
 * @throws Refusal 400 for an unknown name or a lone brace, 413 for values that add too many characters.
 */
export function applyTemplateVariables(messages: unknown[], variables: Record<string, unknown> | undefined): unknown[] {
  if (!variables) return messages;
  const textOf = boundedValues(variables);
  return messages.map((message) => {
    const { role } = (message ?? {}) as { role?: unknown };
    return role === 'assistant' ? message : fillValue(message, textOf);
  });
}

/** Returns the text of a variable each time that it is used, as long as all of them together stay within the limit. */
function boundedValues(variables: Record<string, unknown>): (name: string) => string {
  const texts = new Map<string, string>();
  let addedChars = 0;
  return (name) => {
    if (!Object.hasOwn(variables, name)) {
      const known = listNames(Object.keys(variables), shortened(name));
      throw new Refusal(400, `Missing template variable ${shortened(name)}; known variables: ${known}`);
    }
    const value = ownMember(variables, name);
    const text = texts.get(name) ?? (typeof value === 'string' ? value : JSON.stringify(value));
    texts.set(name, text);
    addedChars += text.length;
    if (addedChars <= maxAddedChars) return text;
    throw new Refusal(413, `The template variables add more than ${maxAddedChars} characters to the messages`);
  };
}

/** Lists names for an error: of many, those that are spelled most like a wrong one. */
export function listNames(names: readonly string[], wrong: string): string {
  const compared = names.slice(0, maxComparedNames).map((name) => ({ name, far: distance(shortened(name), wrong) }));
  const listed = compared.sort((a, b) => a.far - b.far).slice(0, maxListedNames);
  const others = names.length > listed.length ? ` and ${names.length - listed.length} more` : '';
  return `${listed
    .map(({ name }) => shortened(name))
    .sort()
    .join(', ')}${others}`;
}

/** Cuts a name that is long. */
export function shortened(name: string): string {
  return name.length <= maxNameChars ? name : `${name.slice(0, maxNameChars).toWellFormed()}…`;
}

function fillValue(value: unknown, textOf: (name: string) => string): unknown {
  if (typeof value === 'string') {
    return fillPlaceholders(value, textOf, (brace) => {
      throw new Refusal(400, `Lone ${brace} in a message: write ${brace}${brace} for a literal brace`);
    });
  }
  if (Array.isArray(value)) return value.map((element) => fillValue(element, textOf));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fillValue(member, textOf)]));
}
