import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { goodResponse } from './good-responses.ts';
import { onEnd } from './on-end.ts';

/** A request as it arrived, and its connection. */
export interface RecordedRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  socket: Socket;
}

/** Responds to a request, or misbehaves on its socket. */
export type Responder = (request: RecordedRequest) => void;

export interface Credentials {
  username: string;
  password: string;
  token: string;
}

export interface FakeServiceOptions {
  /** Rejects requests with other credentials. Without it, all requests are accepted. */
  credentials?: Credentials;
  /** Speaks TLS with this certificate. */
  certificate?: { key: string; cert: string };
}

export interface FakeService {
  url: string;
  port: number;
  /** The settings of a heddle that uses this service. */
  environment: Record<string, string>;
  /** Every request that was read to its end, in order. */
  requests: RecordedRequest[];
  /** Returns each request as `METHOD path authorization`, with `-` for a missing header. */
  requestLines: () => string[];
  /** The credentials that are accepted; all are when undefined. */
  credentials: Credentials | undefined;
  /** Handles each request; `respondNormally` by default. */
  respond: Responder;
  /** Checks the credentials, then sends the next of `nextStatuses`, or the response of a working service. */
  respondNormally: Responder;
  /** Statuses of the next responses. */
  nextStatuses: number[];
  /** Handles each connection before anything is read from it. */
  onConnection: (socket: Socket) => void;
  /** Connections that are open now. */
  sockets: Set<Socket>;
  /** Closes the port and all connections. Happens at the end of the test, too. */
  stop: () => Promise<void>;
}

/** The message in the error responses of {@link FakeService.nextStatuses}. */
export const fakeErrorMessage = 'words of the service';

/** A tool call that {@link startFakeService} responds to with one request. */
export const sampleToolCall = { name: 'query_queue_items', arguments: { queue_id: 'secret-queue' } };

/**
 * Starts a service on a free port that responds well to every endpoint of the contract. It writes HTTP by hand, so a
 * test can break off a response anywhere. It stops when the test ends.
 */
export async function startFakeService({ credentials, certificate }: FakeServiceOptions = {}): Promise<FakeService> {
  const onSocket = (socket: Socket): void => {
    service.sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => service.sockets.delete(socket));
    service.onConnection(socket);
    if (!socket.destroyed) {
      readRequests(socket, (request) => {
        service.requests.push(request);
        service.respond(request);
      });
    }
  };
  const server: Server = certificate ? createTlsServer(certificate, onSocket) : createServer(onSocket);
  const respondNormally: Responder = (request) => {
    if (!isAuthorized(request, service.credentials)) return sendResponse(request, 401, { reason: '401 Error' });
    const status = service.nextStatuses.shift() ?? 200;
    if (status === 200) sendGoodResponse(request);
    else sendResponse(request, status, { reason: fakeErrorMessage }, { 'retry-after': 0 });
  };
  const service: FakeService = {
    url: '',
    port: 0,
    environment: {},
    requests: [],
    requestLines: () =>
      service.requests.map(({ method, path, headers }) => `${method} ${path} ${headers.authorization ?? '-'}`),
    credentials,
    respond: respondNormally,
    respondNormally,
    nextStatuses: [],
    onConnection: () => {},
    sockets: new Set(),
    stop: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of service.sockets) socket.destroy();
      await closed;
    },
  };
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(service.stop);
  service.port = (server.address() as AddressInfo).port;
  service.url = `${certificate ? 'https' : 'http'}://127.0.0.1:${service.port}`;
  service.environment = {
    HEDDLE_BASE_URL: service.url,
    HEDDLE_PROJECT: 'team/project',
    HEDDLE_USERNAME: credentials?.username ?? 'mia',
    HEDDLE_PASSWORD: credentials?.password ?? 'password-of-user',
    HEDDLE_TOKEN: credentials?.token ?? 'token-of-user',
  };
  return service;
}

function isAuthorized({ path, headers }: RecordedRequest, credentials: Credentials | undefined): boolean {
  if (!credentials || path === '/') return true;
  const { username, password, token } = credentials;
  const basic = Buffer.from(`${username}:${password}`).toString('base64');
  return headers.authorization === (/^\/(inference\/)?v1\//.test(path) ? `Bearer ${token}` : `Basic ${basic}`);
}

function readRequests(socket: Socket, onRequest: Responder): void {
  let unread = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    unread = Buffer.concat([unread, bytes]);
    for (;;) {
      const headEnd = unread.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const [line = '', ...fields] = unread.toString('latin1', 0, headEnd).split('\r\n');
      const headers = Object.fromEntries(
        fields.map((field) => [
          field.slice(0, field.indexOf(':')).toLowerCase(),
          field.slice(field.indexOf(':') + 1).trim(),
        ]),
      );
      const read = headers['transfer-encoding'] === 'chunked' ? readChunkedBody : readSizedBody;
      const { body, end } = read(unread, headEnd + 4, Number(headers['content-length'] ?? 0));
      if (unread.length < end) return;
      const [method = '', path = ''] = line.split(' ');
      unread = unread.subarray(end);
      onRequest({ method, path, headers, body: body.toString(), socket });
    }
  });
}

/** Returns a body and the offset of its end, which is beyond `bytes` if the body is incomplete. */
function readSizedBody(bytes: Buffer, start: number, length: number): { body: Buffer; end: number } {
  return { body: bytes.subarray(start, start + length), end: start + length };
}

function readChunkedBody(bytes: Buffer, start: number): { body: Buffer; end: number } {
  const chunks: Buffer[] = [];
  let offset = start;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', offset);
    if (lineEnd === -1) return { body: Buffer.alloc(0), end: Number.POSITIVE_INFINITY };
    const size = Number.parseInt(bytes.toString('latin1', offset, lineEnd), 16);
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    offset = lineEnd + 2 + size + 2;
    if (size === 0) return { body: Buffer.concat(chunks), end: offset };
  }
}

/**
 * Sends a whole response; an object is sent as JSON. `content-length` and `date` are right unless `headers` says
 * otherwise.
 */
export function sendResponse(
  { socket }: RecordedRequest,
  status: number,
  body: string | Buffer | object = '',
  headers: Record<string, string | number> = {},
): void {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const all = {
    'content-type': 'application/json',
    'content-length': bytes.length,
    date: new Date().toUTCString(),
    ...headers,
  };
  const fields = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  if (!socket.writable) return;
  // In one piece, without a copy of a large body.
  socket.cork();
  socket.write(`HTTP/1.1 ${status} X\r\n${fields.join('')}\r\n`);
  if (bytes.length > 0) socket.write(bytes);
  socket.uncork();
}

/** Sends the response of a working service, whatever the credentials. */
export function sendGoodResponse(request: RecordedRequest, headers: Record<string, string | number> = {}): void {
  const { contentType, body } = goodResponse(request);
  sendResponse(request, 200, body, { 'content-type': contentType, ...headers });
}

/** Begins a streamed reply; write the rest to the socket with {@link chunked}. */
export function beginStream({ socket }: RecordedRequest, headers = ''): void {
  socket.write(
    `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n${headers}transfer-encoding: chunked\r\n\r\n`,
  );
}

/** Encodes a piece of a body of unknown length; an empty piece ends the body. */
export function chunked(bytes: string | Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${Buffer.byteLength(bytes).toString(16)}\r\n`),
    Buffer.from(bytes),
    Buffer.from('\r\n'),
  ]);
}
