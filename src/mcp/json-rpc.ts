/** Returns the JSON-RPC error that every refusal over HTTP has as its body. */
export function jsonRpcError(message: string, code = -32_000): object {
  return { jsonrpc: '2.0', error: { code, message }, id: null };
}

/** Maximum number of messages in a batch, on stdio and over HTTP. */
export const maxBatchMessages = 1_024;
