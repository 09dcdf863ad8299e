import type { Endpoint } from '../contract/endpoint.ts';
import { faultsOf } from '../contract/validation.ts';
import { HeddleError } from '../core/errors.ts';
import { type HttpResponse, readBody } from '../core/http/http-client.ts';
import { parseKeepingDigits } from '../core/json/json-numbers.ts';
import { JsonLimitError } from '../core/json/parse-json.ts';
import type { SecretSearch } from '../core/secrets/secret-search.ts';
import { longTextChars, Pacer, type Pause } from '../core/turns.ts';
import { badResponse, type RequestInfo, type ServiceResponse } from './failures.ts';

/** Maximum size of a response after decompression; the embedded service accepts requests of the same size. */
const maxResponseBytes = 32 * 1024 * 1024;
/** Limits for the body of an error, whose status alone already tells most. */
const maxErrorBytes = 64 * 1024;
const errorBodyTimeoutMs = 2_000;
/** Maximum number of faults of a response that its error lists. */
const maxDetails = 100;

/** The result in a response. `isClean` if a search in the response has shown that no secret is in it. */
export interface ReadResult<Result> {
  result: Result;
  isClean: boolean;
}

/**
 * Reads the body of a response as UTF-8: of a success all of it, of an error what arrives within the limits.
 * @throws HeddleError `too_large` for a success beyond the limit; the error of the connection if it breaks.
 */
export async function readResponse(response: HttpResponse, info: RequestInfo): Promise<ServiceResponse> {
  const { body: _, ...head } = response;
  return { ...head, body: (await bytesOf(response, info)).toString() };
}

async function bytesOf({ status, body }: HttpResponse, info: RequestInfo): Promise<Buffer> {
  const isError = status >= 300;
  const timer = isError ? setTimeout(() => body.destroy(), errorBodyTimeoutMs) : undefined;
  const { bytes, error } = await readBody(body, isError ? maxErrorBytes : maxResponseBytes);
  clearTimeout(timer);
  // A partial body of an error is enough.
  if (error && !isError) throw error instanceof RangeError ? tooLarge(status, info) : error;
  return bytes;
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
 * Reads a successful response in the form that its endpoint has: bytes, lines of JSON, or JSON. Calls `pause` between the steps.
 * @throws HeddleError `bad_response` for a body that does not match the endpoint's schema, or as {@link readResponse} does.
 */
export async function readResult(
  endpoint: Endpoint,
  response: HttpResponse,
  info: RequestInfo,
  pause: Pause,
): Promise<ReadResult<unknown>> {
  if (endpoint.bytes) return { result: new Blob([new Uint8Array(await bytesOf(response, info))]), isClean: false };
  const read = await readResponse(response, info);
  if (read.body.length >= longTextChars) await pause();
  const search = info.searchSecrets?.();
  const result = endpoint.lines
    ? await parseLines(endpoint, read, info, pause, search)
    : parseJson(read.body, endpoint, read, info, search);
  return { result, isClean: search?.isClean ?? false };
}

/**
 * Parses a JSON text out of a successful response. Numbers that would change become strings of their digits.
 * @throws HeddleError `bad_response` for text that is not JSON or does not match the endpoint's schema.
 */
function parseJson(
  text: string,
  endpoint: Endpoint,
  response: ServiceResponse,
  info: RequestInfo,
  search?: SecretSearch,
): unknown {
  let value: unknown;
  try {
    value = parseKeepingDigits(text, search);
  } catch (error) {
    const reason = error instanceof JsonLimitError ? error.message : 'not JSON';
    throw badResponse(response, info, `the body is ${reason}`);
  }
  const faults = faultsOf(endpoint.response, value, 'response');
  if (faults) throw badResponse(response, info, 'the body does not match the interface', faults.slice(0, maxDetails));
  return value;
}

/** Parses a successful response with one JSON value per line; skips empty lines. Calls `pause` every 15 ms. */
async function parseLines(
  endpoint: Endpoint,
  response: ServiceResponse,
  info: RequestInfo,
  pause: Pause,
  search?: SecretSearch,
): Promise<unknown[]> {
  const values: unknown[] = [];
  const pacer = new Pacer(pause);
  for (const line of response.body.split('\n')) {
    if (line.trim() === '') continue;
    values.push(parseJson(line, endpoint, response, info, search));
    await pacer.pause();
  }
  return values;
}
