import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/server';

/** The data of results and its JSON, by the first list or object in it: the SDK copies the data itself, and nothing below it. */
const knownTexts = new WeakMap<object, { data: object; json: string }>();

/** Notes the JSON of the data of a tool's result, which must not change any more, so that it is not written a second time. */
export function noteJson(data: object, json: string): void {
  const part = firstPart(data);
  if (part) knownTexts.set(part, { data, json });
}

/** Writes a message as JSON. */
export function messageJson(message: JSONRPCMessage): string {
  if (!('result' in message)) return JSON.stringify(message);
  const { result, ...envelope } = message;
  const { structuredContent, content, ...rest } = result as CallToolResult;
  const copy = Object(structuredContent) as object;
  const known = knownTexts.get(firstPart(copy) ?? copy);
  if (!known || !isCopy(copy, known.data)) return JSON.stringify(message);
  // Ends with the braces of the result and of the message.
  const text = JSON.stringify({ ...envelope, result: { ...rest, content } });
  return `${text.slice(0, -2)},"structuredContent":${known.json}}}`;
}

function firstPart(data: object): object | undefined {
  return Object.values(data).find((value) => typeof value === 'object' && value !== null);
}

/** Returns whether two objects have the very same members. */
function isCopy(copy: object, original: object): boolean {
  const members = new Map<string, unknown>(Object.entries(original));
  const entries = Object.entries(copy);
  return entries.length === members.size && entries.every(([name, value]) => members.get(name) === value);
}
