import type { Readable } from 'node:stream';
import type * as z from 'zod';
import type { Endpoint } from '../contract/endpoints.ts';
import { errorDetails, HeddleError } from '../contract/errors.ts';
import { type Answer, badResponse, type CallInfo } from './failures.ts';
import type { TransportAnswer } from './transport.ts';

/** Largest answer that is taken, in bytes after decoding; the service's own limit for requests is the same. */
const maxAnswerBytes = 32 * 1024 * 1024;
/** As much of an error's body is read, in bytes. */
const maxErrorBytes = 64 * 1024;

/**
 * Reads an answer's body whole, decoded as UTF-8. Of an error only the beginning is read.
 * @throws HeddleError `too_large` when a success exceeds the limit.
 */
export async function readAnswer(answer: TransportAnswer, call: CallInfo): Promise<Answer> {
  const failed = answer.status >= 300;
  const limit = failed ? maxErrorBytes : maxAnswerBytes;
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of answer.body as Readable & AsyncIterable<Buffer>) {
    size += part.length;
    if (size > limit) {
      answer.body.destroy();
      if (failed) break;
      throw new HeddleError({
        code: 'too_large',
        message: `The answer to ${call.operation} is larger than ${limit} bytes.`,
        hint: 'Ask for less at once.',
        status: answer.status,
      });
    }
    parts.push(part);
  }
  return { status: answer.status, headers: answer.headers, body: Buffer.concat(parts).toString('utf8') };
}

/**
 * The value of a success, as the endpoint's schema has it.
 * @throws HeddleError `bad_response` when the body is not JSON, or has another shape than the interface.
 */
export function readJson<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  answer: Answer,
  call: CallInfo,
): z.output<Response> {
  return checked(endpoint, parse(answer.body, answer, call), answer, call);
}

/** The values of a success that has one a line; empty lines mean nothing. */
export function readLines<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  answer: Answer,
  call: CallInfo,
): z.output<Response>[] {
  return answer.body
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => checked(endpoint, parse(line, answer, call), answer, call));
}

function parse(text: string, answer: Answer, call: CallInfo): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badResponse(answer, call, 'the body is not JSON');
  }
}

function checked<Response extends z.ZodType>(
  endpoint: Endpoint<z.ZodType, Response>,
  value: unknown,
  answer: Answer,
  call: CallInfo,
): z.output<Response> {
  const result = endpoint.response.safeParse(value);
  if (result.success) return result.data;
  const detail = errorDetails(result.error, 'response');
  throw badResponse(answer, call, 'the body has another shape than the interface', detail);
}
