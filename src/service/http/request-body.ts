import type { IncomingMessage } from 'node:http';
import { isDeeperThan, maxNesting } from '../../core/json-depth.ts';
import { Refusal, refusal } from './refusal.ts';

/** Most bytes that a request body may have. */
export const maxBodyBytes = 32 * 1024 * 1024;

/** Reads a JSON body, never keeping more than the limit of it. Refuses with 413 or 422. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
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

const utf8 = new TextDecoder('utf-8', { fatal: true });

async function readText(request: IncomingMessage): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge();
  const bytes = await readBytes(request);
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalidBody('The body is not UTF-8', 'json_invalid');
  }
}

/**
 * From Node's own stream: a web stream around it costs more than everything else that is done for a small request. And by
 * its events: leaving an iteration would close the connection before the refusal is sent.
 */
function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes <= maxBodyBytes) return void chunks.push(chunk);
      chunks.length = 0;
      request.pause();
      reject(tooLarge());
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('error', reject);
    // Whoever left before this point caused no event that could still be heard.
    const left = () => reject(new Error('The connection was closed before the whole body had come'));
    if (request.destroyed) left();
    request.once('close', left);
  });
}

function tooLarge(): Refusal {
  return refusal(413, `Request body larger than ${maxBodyBytes} bytes`);
}

function invalidBody(msg: string, type: string): Refusal {
  return new Refusal(422, { detail: [{ loc: ['body'], msg, type }] });
}
