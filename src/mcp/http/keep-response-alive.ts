/*
 * The SDK responds to a call of revision 2026-07-28 with one JSON body when the call has ended: only then does it know
 * the status. Its keep-alive comments begin with the first progress. Proxies close connections that are silent for long.
 */

const comment = Buffer.from(': still working\n\n');

/** Returns the SDK's response, or an event stream that comments keep open if it takes longer than `maxSilenceMs`. */
export async function keepResponseAlive(responding: Promise<Response>, maxSilenceMs: number): Promise<Response> {
  const response = await within(maxSilenceMs, responding);
  if (response === undefined) {
    const headers = {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      // Keeps nginx from holding the events back.
      'x-accel-buffering': 'no',
    };
    return new Response(ReadableStream.from(commentsBefore(responding, maxSilenceMs)), { headers });
  }
  // The SDK's `keep-alive` would undo the `close` of a server that is ending.
  response.headers.delete('connection');
  if (isEventStream(response)) return response;
  const body = await response.arrayBuffer();
  response.headers.set('content-length', String(body.byteLength));
  return new Response(body, response);
}

async function* commentsBefore(responding: Promise<Response>, maxSilenceMs: number): AsyncGenerator<Uint8Array> {
  let response: Response | undefined;
  while (response === undefined) {
    yield comment;
    response = await within(maxSilenceMs, responding);
  }
  if (isEventStream(response)) yield* response.body!;
  else yield Buffer.from(`event: message\ndata: ${await response.text()}\n\n`);
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}

/** Returns the value of the promise, or undefined after `ms` milliseconds. */
async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}
