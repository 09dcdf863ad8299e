import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { goodAnswer } from './good-answers.ts';

/** A request as it arrived, and its connection. */
export interface SeenRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  socket: Socket;
}

/** What a service does with a request instead of answering it well. */
export type Fault = (request: SeenRequest) => void;

export interface FaultService {
  url: string;
  port: number;
  /** Every request that was read whole, in order. */
  requests: SeenRequest[];
  /** What happens to each request; the good answer by default. */
  fault: Fault;
  /** What happens to each connection before anything is read. */
  onConnection: (socket: Socket) => void;
  /** Connections that are open now. */
  sockets: Set<Socket>;
  stop: () => Promise<void>;
}

/** A service on a port of its own that speaks HTTP by hand, so that it can break off anywhere. */
export async function startFaultService(certificate?: { key: string; cert: string }): Promise<FaultService> {
  const onSocket = (socket: Socket): void => {
    service.sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => service.sockets.delete(socket));
    service.onConnection(socket);
    if (!socket.destroyed) {
      readRequests(socket, (request) => {
        service.requests.push(request);
        service.fault(request);
      });
    }
  };
  const server: Server = certificate ? createTlsServer(certificate, onSocket) : createServer(onSocket);
  const service: FaultService = {
    url: '',
    port: 0,
    requests: [],
    fault: (request) => good(request),
    onConnection: () => {},
    sockets: new Set(),
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of service.sockets) socket.destroy();
      await closed;
    },
  };
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  service.port = (server.address() as AddressInfo).port;
  service.url = `${certificate ? 'https' : 'http'}://127.0.0.1:${service.port}`;
  return service;
}

function readRequests(socket: Socket, onRequest: Fault): void {
  let unread = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    unread = Buffer.concat([unread, bytes]);
    for (;;) {
      const end = unread.indexOf('\r\n\r\n');
      if (end === -1) return;
      const [line = '', ...fields] = unread.toString('latin1', 0, end).split('\r\n');
      const headers = Object.fromEntries(
        fields.map((field) => [
          field.slice(0, field.indexOf(':')).toLowerCase(),
          field.slice(field.indexOf(':') + 1).trim(),
        ]),
      );
      const length = Number(headers['content-length'] ?? 0);
      if (unread.length < end + 4 + length) return;
      const [method = '', path = ''] = line.split(' ');
      const body = unread.toString('utf8', end + 4, end + 4 + length);
      unread = unread.subarray(end + 4 + length);
      onRequest({ method, path, headers, body, socket });
    }
  });
}

/** Writes a whole answer. `content-length` is right unless `headers` says otherwise. */
export function answer(
  { socket }: SeenRequest,
  status: number,
  body: string | Buffer = '',
  headers: Record<string, string | number> = {},
): void {
  const all = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers };
  const fields = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  if (socket.writable) {
    socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${fields.join('')}\r\n`), Buffer.from(body)]));
  }
}

/** The answer that a working service gives. */
export function good(request: SeenRequest, headers: Record<string, string | number> = {}): void {
  const { contentType, body } = goodAnswer(request);
  answer(request, 200, body, { 'content-type': contentType, ...headers });
}

/** Begins a streamed reply; what follows is written to the socket. */
export function beginStream({ socket }: SeenRequest, headers = ''): void {
  socket.write(
    `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n${headers}transfer-encoding: chunked\r\n\r\n`,
  );
}

/** A piece of a body whose length was not announced; an empty one ends it. */
export function chunked(bytes: string | Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${Buffer.byteLength(bytes).toString(16)}\r\n`),
    Buffer.from(bytes),
    Buffer.from('\r\n'),
  ]);
}
