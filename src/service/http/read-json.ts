import type { ServerResponse } from 'node:http';
import { createBodyReader } from '../../core/http/body-reader.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { parseKeepingNumbers } from '../../core/json/exact-number.ts';
import { JsonLimitError } from '../../core/json/parse-json.ts';
import { nextTurn } from '../../core/turns.ts';
import type { RequestBudget } from '../request-budget.ts';
import { memoryBytesOf } from '../storage/memory-bytes.ts';

/** Maximum size of a body, in bytes. */
export const maxBodyBytes = 32 * 1024 * 1024;
const readBody = createBodyReader(maxBodyBytes);
/** Maximum memory of a body: what is stored with two requests, such as the start and the end of a call, can be read with one. */
const maxBodyMemoryBytes = 200 * 1024 * 1024;
/** Length from which a body is parsed in several turns of the event loop. */
const longBodyBytes = 512 * 1024;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the JSON body of the request that a response belongs to.
 * @throws Refusal 413 for more than 32 MiB or more memory than the budget allows, 422 for a body that is not JSON in UTF-8 or is beyond the limits of JSON.
 */
export async function readJson(response: ServerResponse, budget: RequestBudget): Promise<unknown> {
  return parseBody(await readBytes(response), budget);
}

/** Reads the body of the request that a response belongs to. @throws Refusal 413 for more than 32 MiB. */
export async function readBytes(response: ServerResponse): Promise<Buffer> {
  // The rest of a refused body is dropped, so that the connection can be used again.
  const bytes = await readBody(response).finally(() => response.req.resume());
  if (bytes === undefined) throw new Refusal(400, 'The connection was closed before the body was complete');
  return bytes;
}

/** Parses the bytes of a body, with the same refusals as {@link readJson} except that of its size. */
export async function parseBody(bytes: Buffer, budget: RequestBudget): Promise<unknown> {
  try {
    if (bytes.length < longBodyBytes) return parseKeepingNumbers(utf8.decode(bytes));
    await nextTurn();
    const text = utf8.decode(bytes);
    const memoryBytes = memoryBytesOf(text);
    if (memoryBytes > maxBodyMemoryBytes) throw new Refusal(413, 'The body has too many values: send fewer at once');
    await budget.reserve(memoryBytes, 'send less at once');
    await budget.parse(memoryBytes);
    const value = parseKeepingNumbers(text);
    await budget.parse(memoryBytes);
    return value;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (error instanceof JsonLimitError) throw invalidBody(`The body is ${error.message}`, 'value_error');
    throw invalidBody('The body is not valid JSON in UTF-8', 'json_invalid');
  }
}

/** Returns the refusal of a request whose body has a fault. */
export function invalidBody(msg: string, type = 'value_error'): Refusal {
  return new Refusal(422, msg, { body: { detail: [{ loc: ['body'], msg, type }] } });
}
