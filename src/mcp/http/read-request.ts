import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import type { BodyReader } from '../../core/http/body-reader.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { InexactNumberError, parseExactJson } from '../../core/json/json-numbers.ts';
import { JsonLimitError } from '../../core/json/parse-json.ts';
import { jsonRpcError, maxBatchMessages } from '../json-rpc.ts';
import { checkMethod } from './guard.ts';

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
 * @throws Refusal 400 when it is not JSON, is nested too deeply or has a number that would change, 413 or 503 when it is beyond a limit.
 */
export async function readRequestBody(readBody: BodyReader, response: ServerResponse): Promise<unknown> {
  const bytes = await readBody(response);
  if (bytes === undefined) return undefined;
  const body = parseBody(bytes.toString('utf8'));
  if (Array.isArray(body) && body.length > maxBatchMessages) {
    throw new Refusal(413, `Payload too large: a batch may have ${maxBatchMessages} messages`);
  }
  return body;
}

function parseBody(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof InexactNumberError) {
      const message = `Invalid parameters: ${error.message}`;
      // The message of a refusal is logged, and logs contain no arguments.
      throw new Refusal(400, 'Numbers that would change', { body: jsonRpcError(message, -32_602) });
    }
    const reason = error instanceof JsonLimitError ? error.message : 'not JSON';
    const message = `Parse error: the body is ${reason}`;
    throw new Refusal(400, message, { body: jsonRpcError(message, -32_700) });
  }
}
