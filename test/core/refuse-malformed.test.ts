import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { refuseMalformed } from '../../src/core/http/refuse-malformed.ts';

const get = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
const refusal = [
  'HTTP/1.1 400 Bad Request',
  'connection: close',
  'content-type: application/json',
  'content-length: 35',
  '',
  '{"message":"Bad request: not HTTP"}',
].join('\r\n');

/** Starts a server, and returns a connection to it and the statuses of its refusals. */
async function connectTo(listener: RequestListener): Promise<{ socket: Socket; statuses: number[] }> {
  const statuses: number[] = [];
  const server = createServer(listener);
  refuseMalformed(server, { bodyOf: (message) => ({ message }), onRefused: (status) => statuses.push(status) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  return { socket, statuses };
}

/** Returns what arrives until the server ends the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (part) => {
    text += part;
  });
  socket.on('error', () => {});
  await once(socket, 'close');
  return text;
}

describe('refuseMalformed', () => {
  it('sends a single refusal for bytes that are not HTTP, however many arrive', async () => {
    const { socket, statuses } = await connectTo(() => {});
    const received = untilClosed(socket);
    socket.write('not HTTP\r\n\r\n');
    socket.write('nor this\r\n\r\n');
    expect([await received, statuses]).toEqual([refusal, [400]]);
  });

  it('refuses bytes that are not HTTP after a complete response', async () => {
    const { socket, statuses } = await connectTo((_, response) => response.end('body'));
    const received = untilClosed(socket);
    socket.write(get);
    await once(socket, 'data');
    socket.write('not HTTP\r\n\r\n');
    expect((await received).endsWith(`\r\n\r\nbody${refusal}`)).toBe(true);
    expect(statuses).toEqual([400]);
  });

  it('closes the connection instead of writing a refusal into a response', async () => {
    const { socket, statuses } = await connectTo((_, response) => void response.write('part'));
    const received = untilClosed(socket);
    socket.write(get);
    await once(socket, 'data');
    socket.write('not HTTP\r\n\r\n');
    expect((await received).endsWith('\r\n\r\n4\r\npart\r\n')).toBe(true);
    expect(statuses).toEqual([]);
  });
});
