import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { chunked, type Responder, sendGoodResponse, sendResponse } from './fake-service.ts';
import { goodResponse } from './good-responses.ts';

/** The expected error code and `retryable`, and how many requests repeatable and unrepeatable tools send. */
export type Expected = [code: string, retryable: boolean | undefined, repeatable: number, unrepeatable: number];

/** The outcome of each status, whatever its body. */
export const statuses: Record<number, Expected> = {
  301: ['bad_response', false, 1, 1],
  302: ['bad_response', false, 1, 1],
  304: ['bad_response', false, 1, 1],
  307: ['bad_response', false, 1, 1],
  308: ['bad_response', false, 1, 1],
  400: ['invalid_request', false, 1, 1],
  401: ['unauthorized', false, 1, 1],
  402: ['quota_exceeded', false, 1, 1],
  403: ['forbidden', false, 1, 1],
  404: ['not_found', false, 1, 1],
  405: ['unsupported', false, 1, 1],
  408: ['timeout', true, 3, 1],
  409: ['conflict', false, 1, 1],
  413: ['too_large', false, 1, 1],
  415: ['invalid_request', false, 1, 1],
  418: ['invalid_request', false, 1, 1],
  422: ['validation_failed', false, 1, 1],
  429: ['rate_limited', true, 3, 3],
  431: ['invalid_request', false, 1, 1],
  500: ['service_unavailable', true, 3, 1],
  501: ['unsupported', false, 1, 1],
  502: ['service_unavailable', true, 3, 1],
  503: ['service_unavailable', true, 3, 1],
  504: ['service_unavailable', true, 3, 1],
  507: ['service_unavailable', true, 1, 1],
};

/** Every form of an error body that services and proxies send. */
export const bodies: Record<string, [body: string, contentType?: string]> = {
  details: ['{"detail":[{"loc":["body",0,"x"],"msg":"wrong","type":"t"}]}'],
  'detail text': ['{"detail":"some text"}'],
  reason: ['{"reason":"some text","error_code":"E1","deleted_at":null}'],
  'error object': ['{"error":{"message":"some text","type":"t","param":null,"code":"c"}}'],
  'error text': ['{"error":"some text"}'],
  message: ['{"message":"some text"}'],
  html: ['<!doctype html><h1>Error</h1>', 'text/html'],
  'plain text': ['upstream connect error', 'text/plain'],
  'cut JSON': ['{"detail":"some te'],
  empty: [''],
};

/** Bodies without a message; with a 404, the operation is missing. */
export const routerBodies = new Set(['html', 'empty']);

const later = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();
const tooMany = '{"detail":"slow down"}';
const compressed = (encoding: string, compress: (body: string) => Buffer): Responder => {
  return (request) =>
    sendResponse(request, 200, compress(goodResponse(request).body), {
      'content-type': goodResponse(request).contentType,
      'content-encoding': encoding,
    });
};
/** 200 MB, as so many members of one gzip file. */
const bomb = Buffer.concat(Array(200).fill(gzipSync(Buffer.alloc(1024 * 1024, ' '))));

/** Other faults and their outcomes; `ok` is success. `lines` is the outcome of endpoints that respond with lines. */
export const others: Record<string, { fault: Responder; expected: Expected; lines?: Expected }> = {
  'no fault': { fault: (request) => sendGoodResponse(request), expected: ['ok', undefined, 1, 1] },
  '429, Retry-After 0': {
    fault: (request) => sendResponse(request, 429, tooMany, { 'retry-after': 0 }),
    expected: ['rate_limited', true, 3, 3],
  },
  '429, Retry-After in seconds': {
    fault: (request) => sendResponse(request, 429, tooMany, { 'retry-after': 1 }),
    expected: ['rate_limited', true, 3, 3],
  },
  '429, Retry-After as a date': {
    fault: (request) => sendResponse(request, 429, tooMany, { 'retry-after': later(0) }),
    expected: ['rate_limited', true, 3, 3],
  },
  '429, Retry-After beyond the deadline': {
    fault: (request) => sendResponse(request, 429, tooMany, { 'retry-after': 120 }),
    expected: ['rate_limited', true, 1, 1],
  },
  '429, Retry-After as a date beyond the deadline': {
    fault: (request) => sendResponse(request, 429, tooMany, { 'retry-after': later(3600) }),
    expected: ['rate_limited', true, 1, 1],
  },
  '429, Retry-After that is not a time': {
    fault: (request) => sendResponse(request, 429, tooMany, { 'retry-after': 'soon' }),
    expected: ['rate_limited', true, 3, 3],
  },
  '503, Retry-After 0': {
    fault: (request) => sendResponse(request, 503, '{"reason":"overloaded"}', { 'retry-after': 0 }),
    expected: ['service_unavailable', true, 3, 3],
  },
  '403 for a missing header': {
    fault: (request) => sendResponse(request, 403, '{"detail":"Not authenticated"}'),
    expected: ['unauthorized', false, 1, 1],
  },
  'HTML with 200': {
    fault: (request) => sendResponse(request, 200, '<html>Sign in</html>', { 'content-type': 'text/html' }),
    expected: ['bad_response', false, 1, 1],
  },
  'JSON of another shape with 200': {
    fault: (request) => sendResponse(request, 200, '[1,2]'),
    expected: ['bad_response', false, 1, 1],
  },
  'cut JSON with 200': {
    fault: (request) => sendResponse(request, 200, goodResponse(request).body.slice(0, 8)),
    expected: ['bad_response', false, 1, 1],
  },
  'an empty body with 200': {
    fault: (request) => sendResponse(request, 200),
    expected: ['bad_response', false, 1, 1],
    lines: ['ok', undefined, 1, 1],
  },
  'an empty body with 204': {
    fault: ({ socket }) => socket.write('HTTP/1.1 204 X\r\n\r\n'),
    expected: ['bad_response', false, 1, 1],
    lines: ['ok', undefined, 1, 1],
  },
  'nesting that overflows stacks': {
    fault: (request) => sendResponse(request, 200, `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`),
    expected: ['bad_response', false, 1, 1],
  },
  'content-length too long': {
    fault: (request) => {
      sendGoodResponse(request, { 'content-length': 100_000 });
      request.socket.end();
    },
    expected: ['network', true, 3, 1],
  },
  'content-length too short': {
    fault: (request) => sendGoodResponse(request, { 'content-length': 8 }),
    expected: ['bad_response', false, 1, 1],
  },
  'content-length that is not a number': {
    fault: (request) => sendGoodResponse(request, { 'content-length': 'many' }),
    expected: ['bad_response', false, 1, 1],
  },
  'reset after the request was read': {
    fault: ({ socket }) => socket.resetAndDestroy(),
    expected: ['network', true, 3, 1],
  },
  'closed after the request was read': { fault: ({ socket }) => socket.end(), expected: ['network', true, 3, 1] },
  'reset in the header': {
    fault: ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-', () => socket.resetAndDestroy());
    },
    expected: ['network', true, 3, 1],
  },
  'reset in the body': {
    fault: (request) => {
      sendGoodResponse(request, { 'content-length': 100_000 });
      setImmediate(() => request.socket.resetAndDestroy());
    },
    expected: ['network', true, 3, 1],
  },
  'closed between pieces': {
    fault: ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
      socket.end(chunked('{"items":['));
    },
    expected: ['network', true, 3, 1],
  },
  'another protocol than HTTP': {
    fault: ({ socket }) => socket.end('SSH-2.0-OpenSSH_9\r\n'),
    expected: ['bad_response', false, 1, 1],
  },
  'a header without end': {
    fault: ({ socket }) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`),
    expected: ['bad_response', false, 1, 1],
  },
  'a change of protocol': {
    fault: ({ socket }) => socket.write('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    expected: ['network', true, 3, 1],
  },
  'early hints first': {
    fault: (request) => {
      request.socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n');
      sendGoodResponse(request);
    },
    expected: ['ok', undefined, 1, 1],
  },
  'unsolicited 100 Continue': {
    fault: (request) => {
      request.socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nx: y\r\n\r\n');
      sendGoodResponse(request);
    },
    expected: ['network', true, 3, 1],
  },
  'a byte order mark': {
    fault: (request) => {
      const { contentType, body } = goodResponse(request);
      sendResponse(request, 200, `\ufeff${body}`, { 'content-type': contentType });
    },
    expected: ['ok', undefined, 1, 1],
  },
  'byte by byte': {
    fault: (request) => {
      const { contentType, body } = goodResponse(request);
      const { socket } = request;
      socket.setNoDelay(true);
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ntransfer-encoding: chunked\r\n\r\n`);
      for (const byte of Buffer.from(body)) socket.write(chunked(Buffer.of(byte)));
      socket.write(chunked(''));
    },
    expected: ['ok', undefined, 1, 1],
  },
  gzip: { fault: compressed('gzip', (body) => gzipSync(body)), expected: ['ok', undefined, 1, 1] },
  deflate: { fault: compressed('deflate', (body) => deflateSync(body)), expected: ['ok', undefined, 1, 1] },
  brotli: { fault: compressed('br', (body) => brotliCompressSync(body)), expected: ['ok', undefined, 1, 1] },
  'gzip that is cut': {
    fault: compressed('gzip', (body) => gzipSync(body).subarray(0, -12)),
    expected: ['bad_response', false, 1, 1],
  },
  'gzip that is not gzip': {
    fault: compressed('gzip', (body) => createHash('sha512').update(body).digest()),
    expected: ['bad_response', false, 1, 1],
  },
  'gzip of 200 MB': { fault: compressed('gzip', () => bomb), expected: ['too_large', false, 1, 1] },
  '50 MB': {
    fault: (request) => sendResponse(request, 200, Buffer.alloc(50 * 1024 * 1024, ' ')),
    expected: ['too_large', false, 1, 1],
  },
  'an error of 50 MB': {
    fault: (request) => sendResponse(request, 500, Buffer.alloc(50 * 1024 * 1024, 'x')),
    expected: ['service_unavailable', true, 3, 1],
  },
  'an error that is cut off': {
    fault: (request) => {
      sendResponse(request, 409, '{"reason":"so', { 'content-length': 5000 });
      request.socket.end();
    },
    expected: ['conflict', false, 1, 1],
  },
  'an error whose body stands still': {
    fault: (request) => sendResponse(request, 404, '{"reason":"so', { 'content-length': 5000 }),
    expected: ['not_found', false, 1, 1],
  },
};

/** Faults that only the deadline ends. */
export const endless: Record<string, Responder> = {
  'no response at all': () => {},
  'a header that stands still': ({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-'),
  'a body that stands still': (request) => sendResponse(request, 200, '{"items":[', { 'content-length': 5000 }),
  'a body that trickles': (request) => {
    sendResponse(request, 200, '{"items":[', { 'content-length': 5000 });
    const timer = setInterval(() => request.socket.write(' '), 50);
    request.socket.once('close', () => clearInterval(timer));
  },
};
