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

  /** A message as JSON, with what ends it on the wire. Its result is not kept any longer. */
  textOf(message: JSONRPCMessage, end = ''): string | Buffer {
    const json = 'result' in message && this.#results.get(message.id);
    if (!json) return `${JSON.stringify(message)}${end}`;
    this.#results.delete(message.id);
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
