import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server';

/**
 * Results of the tools as JSON by the id of their request. They have been serialised for their size and for secrets;
 * a transport that shares this with its server sends the same bytes instead of serialising them once more.
 */
export class SerializedResults {
  readonly #results = new Map<RequestId, Buffer>();

  keep(id: RequestId, json: Buffer): void {
    this.#results.set(id, json);
  }

  /** A message as JSON, with what ends it on the wire. Once a request is answered, nothing is kept for its id. */
  textOf(message: JSONRPCMessage, end = ''): string | Buffer {
    if ('method' in message || message.id === undefined) return `${JSON.stringify(message)}${end}`;
    const json = this.#results.get(message.id);
    this.#results.delete(message.id);
    if (!json || !('result' in message)) return `${JSON.stringify(message)}${end}`;
    // What the SDK has added to the result is short.
    const { content: _, structuredContent: __, ...added } = message.result;
    const rest = JSON.stringify(added).slice(1);
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":`;
    return Buffer.concat([
      Buffer.from(head),
      json.subarray(0, -1),
      Buffer.from(`${rest === '}' ? '' : ','}${rest}}${end}`),
    ]);
  }
}
