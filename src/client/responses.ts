import type * as z from 'zod';
import type { Endpoint } from '../contract/endpoints.ts';
import { validateValue } from '../contract/validation.ts';
import { HeddleError } from '../core/errors.ts';
import { type HttpResponse, readBody } from '../core/http/http-client.ts';
import { JsonLimitError } from '../core/json/json.ts';
import { parseKeepingDigits } from '../core/json/json-numbers.ts';
import { badResponse, type RequestInfo, type ServiceResponse } from './failures.ts';

/** Maximum size of a response after decompression; the embedded service accepts requests of the same size. */
const maxResponseBytes = 32 * 1024 * 1024;
/** Limits for the body of an error, whose status alone already tells most. */
const maxErrorBytes = 64 * 1024;
const errorBodyTimeoutMs = 2_000;
/** Maximum number of faults of a response that its error lists. */
const maxDetails = 100;

/**
 * Reads the body of a response as UTF-8: of a success all of it, of an error what arrives within the limits.
 * @throws HeddleError `too_large` for a success beyond the limit; the error of the connection if it breaks.
 */
export async function readResponse(response: HttpResponse, info: RequestInfo): Promise<ServiceResponse> {
  const { body, ...head } = response;
  const isError = head.status >= 300;
  const timer = isError ? setTimeout(() => body.destroy(), errorBodyTimeoutMs) : undefined;
  const { text, error } = await readBody(body, isError ? maxErrorBytes : maxResponseBytes);
  clearTimeout(timer);
  // A partial body of an error is enough.
  if (error && !isError) throw error instanceof RangeError ? tooLarge(head.status, info) : error;
  return { ...head, body: text };
}

function tooLarge(status: number, { requestLine }: RequestInfo): HeddleError {
  return new HeddleError({
    code: 'too_large',
    message: `The response to ${requestLine} is larger than ${maxResponseBytes} bytes.`,
    hint: 'Request less at once.',
    status,
  });
}

/**
 * Parses the JSON of a successful response. Numbers that would change become strings of their digits.
 * @throws HeddleError `bad_response` for a body that is not JSON or does not match the endpoint's schema.
 */
export function parseJsonResponse<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  response: ServiceResponse,
  info: RequestInfo,
): z.output<Response> {
  return parseJsonOf(response.body, endpoint, response, info);
}

/** Parses a JSON text out of a response. */
function parseJsonOf<Response extends z.ZodType>(
  text: string,
  endpoint: Endpoint<z.ZodType, Response>,
  response: ServiceResponse,
  info: RequestInfo,
): z.output<Response> {
  let value: unknown;
  try {
    value = parseKeepingDigits(text);
  } catch (error) {
    const reason = error instanceof JsonLimitError ? error.message : 'not JSON';
    throw badResponse(response, info, `the body is ${reason}`);
  }
  const { faults } = validateValue(endpoint.response, value, 'response');
  if (faults) throw badResponse(response, info, 'the body does not match the interface', faults.slice(0, maxDetails));
  // Not zod's copy, which reorders the members.
  return value as z.output<Response>;
}

/** Characters that are parsed without a pause. */
const charsPerPause = 1024 * 1024;

/**
 * Parses a successful response with one JSON value per line, as {@link parseJsonResponse} does; skips empty lines. Calls
 * `pause` now and then.
 */
export async function parseNdjsonResponse<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  response: ServiceResponse,
  info: RequestInfo,
  pause: () => Promise<void>,
): Promise<z.output<Response>[]> {
  const values: z.output<Response>[] = [];
  let chars = 0;
  for (const line of response.body.split('\n')) {
    if (line.trim() === '') continue;
    values.push(parseJsonOf(line, endpoint, response, info));
    chars += line.length;
    if (chars < charsPerPause) continue;
    chars = 0;
    await pause();
  }
  return values;
}
