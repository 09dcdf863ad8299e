import { isDeeperThan, maxNesting } from '../contract/nesting.ts';
import { Refusal, refusal } from './refusal.ts';

/** Most bytes that a request body may have. */
export const maxBodyBytes = 32 * 1024 * 1024;

/** Reads a JSON body, never keeping more than the limit of it. Refuses with 413 or 422. */
export async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidBody('The body is not valid JSON', 'json_invalid');
  }
  if (isDeeperThan(value, maxNesting)) throw invalidBody(`Nested deeper than ${maxNesting} levels`, 'value_error');
  return value;
}

async function readText(request: Request): Promise<string> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw invalidBody('The body is not UTF-8', 'json_invalid');
  }
}

function tooLarge(): Refusal {
  return refusal(413, `Request body larger than ${maxBodyBytes} bytes`);
}

function invalidBody(msg: string, type: string): Refusal {
  return new Refusal(422, { detail: [{ loc: ['body'], msg, type }] });
}
