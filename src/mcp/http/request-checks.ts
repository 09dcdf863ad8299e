import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { BodyReader } from '../../core/http/body-reader.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { inexactNumbers } from '../../core/json-numbers.ts';
import { httpLimits } from './limits.ts';
import { checkMethod, jsonRpcError } from './responses.ts';

/**
 * Checks the method and the headers of a request to the endpoint, before its body is read.
 * @throws Refusal 405, 406 or 415.
 */
export function checkMethodAndHeaders(request: IncomingMessage): void {
  // Nothing is kept between requests, so there is no stream to GET and no session to DELETE.
  checkMethod(request, 'POST');
  const { headers } = request;
  if (!isJsonContentType(headers['content-type'] ?? null)) {
    throw new Refusal(415, 'Unsupported media type: Content-Type must be application/json');
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new Refusal(415, 'Unsupported media type: the body must not be compressed');
  }
  const accept = headers.accept ?? '';
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) {
    throw new Refusal(406, 'Not acceptable: accept both application/json and text/event-stream');
  }
}

/**
 * Reads and parses the body.
 * @returns undefined when the client goes away before its end.
 * @throws Refusal 400 when it is not JSON or has a number that would change, 413 or 503 when it is beyond a limit of `bodies`.
 */
export async function readRequestBody(
  bodies: BodyReader,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const { expect, 'content-length': length } = request.headers;
  if (expect !== undefined && Number(length ?? 0) <= httpLimits.maxBodyBytes) response.writeContinue();
  const bytes = await bodies.read(request);
  if (bytes === undefined) return undefined;
  const json = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    const message = 'Parse error: the body is not JSON';
    throw new Refusal(400, message, { body: jsonRpcError(message, -32_700) });
  }
  const [inexact] = inexactNumbers(json);
  if (!inexact) return value;
  const message = `Message refused: ${inexact.loc.join('.')}: ${inexact.msg}`;
  throw new Refusal(400, message, { body: jsonRpcError(message, -32_602) });
}
