import {
  classifyInboundRequest,
  isJSONRPCRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** Whether a request is of a revision before 2026-07-28. */
export function isOlder({ headers }: Request, body: unknown): boolean {
  const header = (name: string): string | undefined => headers.get(name) ?? undefined;
  return (
    classifyInboundRequest({
      httpMethod: 'POST',
      protocolVersionHeader: header('mcp-protocol-version'),
      mcpMethodHeader: header('mcp-method'),
      mcpNameHeader: header('mcp-name'),
      body,
    }).kind === 'legacy'
  );
}

/**
 * Serves one request of the older revisions by a server of its own, without a session. The SDK would answer every call
 * with a stream; here only a client that asked for progress gets one, since one JSON body costs a third less.
 */
export async function serveOlder(createServer: () => Server, request: Request, body: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !asksForProgress(body) });
  const server = createServer();
  await server.connect(transport);
  // Ends what runs. An exchange that has come to its end leaves nothing to close. A cancelled call gets no answer, but
  // the exchange must end all the same: a client that keeps its connection would hold its place for good.
  const cancelled = new Promise<Response>((resolve) => {
    request.signal.addEventListener(
      'abort',
      () => {
        void server.close();
        resolve(new Response('', { headers: { 'content-type': 'text/event-stream' } }));
      },
      { once: true },
    );
  });
  return Promise.race([transport.handleRequest(request, { parsedBody: body }), cancelled]);
}

function asksForProgress(body: unknown): boolean {
  const messages = Array.isArray(body) ? body : [body];
  return messages.some((message) => isJSONRPCRequest(message) && message.params?._meta?.progressToken !== undefined);
}
