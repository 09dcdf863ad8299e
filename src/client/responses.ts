import type { Readable } from 'node:stream';
import type * as z from 'zod';
import type { Endpoint } from '../contract/endpoints.ts';
import { errorDetails } from '../contract/validation-errors.ts';
import { HeddleError } from '../core/errors.ts';
import { isDeeperThan, maxNesting } from '../core/json-depth.ts';
import { badResponse, type RequestInfo, type ServiceResponse } from './failures.ts';
import type { TransportResponse } from './http-transport.ts';

/** Largest answer that is taken, in bytes after decoding; the service's own limit for requests is the same. */
const maxAnswerBytes = 32 * 1024 * 1024;
/** As much of an error's body is read, in bytes, and for so long, in milliseconds. */
const maxErrorBytes = 64 * 1024;
const errorPatienceMs = 2_000;

/**
 * Reads an answer's body whole, decoded as UTF-8. Of an error only the beginning is read, as far as it comes: its status
 * already says what happened.
 * @throws HeddleError `too_large` when a success exceeds the limit; whatever the connection breaks with.
 */
export async function readResponse(answer: TransportResponse, call: RequestInfo): Promise<ServiceResponse> {
  const { status, headers } = answer;
  const parts: Buffer[] = [];
  const whole = (): ServiceResponse => ({ status, headers, body: Buffer.concat(parts).toString('utf8') });
  if (status < 300) {
    await collect(answer.body, parts, maxAnswerBytes, () => {
      throw new HeddleError({
        code: 'too_large',
        message: `The answer to ${call.operation} is larger than ${maxAnswerBytes} bytes.`,
        hint: 'Ask for less at once.',
        status,
      });
    });
    return whole();
  }
  const patience = setTimeout(() => answer.body.destroy(), errorPatienceMs);
  try {
    await collect(answer.body, parts, maxErrorBytes, () => {});
  } catch {
    // What came before it broke has to do.
  } finally {
    clearTimeout(patience);
  }
  return whole();
}

async function collect(body: Readable, parts: Buffer[], limit: number, onExcess: () => void): Promise<void> {
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length;
    // Leaving the loop closes the stream, and with it the connection.
    if (size > limit) return onExcess();
    parts.push(part);
  }
}

/**
 * The value of a success, as the endpoint's schema has it.
 * @throws HeddleError `bad_response` when the body is not JSON, or has another shape than the interface.
 */
export function parseJsonResponse<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  answer: ServiceResponse,
  call: RequestInfo,
): z.output<Response> {
  return checked(endpoint, parse(answer.body, answer, call), answer, call);
}

/** The values of a success that has one a line; empty lines mean nothing. */
export function parseNdjsonResponse<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  answer: ServiceResponse,
  call: RequestInfo,
): z.output<Response>[] {
  return answer.body
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => checked(endpoint, parse(line, answer, call), answer, call));
}

function parse(text: string, answer: ServiceResponse, call: RequestInfo): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badResponse(answer, call, 'the body is not JSON');
  }
  if (isDeeperThan(value, maxNesting))
    throw badResponse(answer, call, `the body is nested deeper than ${maxNesting} levels`);
  return value;
}

function checked<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  value: unknown,
  answer: ServiceResponse,
  call: RequestInfo,
): z.output<Response> {
  const result = endpoint.response.safeParse(value);
  // As it came. The copy that zod makes has its members in another order, and costs as much as the check.
  if (result.success) return value as z.output<Response>;
  const detail = errorDetails(result.error, 'response');
  throw badResponse(answer, call, 'the body has another shape than the interface', detail);
}
