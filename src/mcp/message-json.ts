import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/server';

const knownTexts = new WeakMap<object, string>();

/** Notes the JSON of the data of a tool's result, which must not change any more, so that it is not written a second time. */
export function noteJson(data: object, json: string): void {
  knownTexts.set(data, json);
}

/** Writes a message as JSON. */
export function messageJson(message: JSONRPCMessage): string {
  if (!('result' in message)) return JSON.stringify(message);
  const { result, ...envelope } = message;
  const { structuredContent, content, ...rest } = result as CallToolResult;
  const json = structuredContent && knownTexts.get(structuredContent);
  if (json === undefined) return JSON.stringify(message);
  // Ends with the braces of the result and of the message.
  const text = JSON.stringify({ ...envelope, result: { ...rest, content } });
  return `${text.slice(0, -2)},"structuredContent":${json}}}`;
}
