// What it takes to send, in a module of its own, so that it is loaded with the first request and not before.
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { TransportAnswer } from './http-transport.ts';

// The files of these two parts: undici's main module loads three times as much (fetch, WebSocket, caches, mocks).
export { default as request } from 'undici/lib/api/api-request.js';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';

/** A body without its content coding. */
export function decoded(body: Readable, headers: TransportAnswer['headers']): Readable {
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase();
  const decoder =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip()
      : encoding === 'deflate'
        ? createInflate()
        : encoding === 'br'
          ? createBrotliDecompress()
          : undefined;
  if (!decoder) return body;
  body.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => body.destroy());
  return body.pipe(decoder);
}
