import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startBoard } from '../support/board.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { ask, startHttp } from '../support/http-server.ts';
import { startServiceCommand } from '../support/service-process.ts';

/** The URL of each server of heddle that takes requests with a body. */
const servers = {
  'heddle serve --http': (await startHttp()).url,
  'heddle service start': (await startServiceCommand()).url,
  'heddle board': (await startBoard([], emptyHome(temporaryFolder()))).url,
};

const tooLong = 'x'.repeat(20_000);

it('a client of the service that sends a refused body slowly gets the refusal, and keeps its connection', async () => {
  const { hostname, port } = new URL(servers['heddle service start']);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  let received = '';
  const answers = (count: number) => expect.poll(() => received.split('HTTP/1.1 ').length - 1).toBe(count);
  socket.on('data', (text) => {
    received += text;
  });
  const piece = 'x'.repeat(1000);
  socket.write(`POST /nowhere HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: ${10 * piece.length}\r\n\r\n`);
  await answers(1);
  for (let sent = 0; sent < 10; sent += 1) {
    // A slow client is what this is about.
    await setTimeout(100);
    socket.write(piece);
  }
  socket.write(`GET /health HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
  await answers(2);
  expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['404', '200']);
  socket.destroy();
});

describe.each(Object.entries(servers))('%s', (_, url) => {
  it('refuses a long header while the client is still sending the body', async () => {
    const { origin } = new URL(url);
    const body = 'x'.repeat(16 * 1024 * 1024);
    // A reset would often, but not always, arrive before the refusal.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { status, body: text } = await ask(`${origin}/${tooLong}`, { body });
      expect([status, text]).toEqual([431, expect.stringContaining('The header is too large')]);
    }
  });

  it('closes a refused connection whose client keeps sending', async () => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const closed = new Promise((resolve) =>
      socket
        .on('error', () => {})
        .resume()
        .once('close', resolve),
    );
    const send = (): void => {
      if (!socket.destroyed) socket.write('nonsense\r\n\r\n', () => setImmediate(send));
    };
    send();
    await closed;
    const answer = await ask(`http://${hostname}:${port}/`, { method: 'GET' });
    expect(answer.status).toBeLessThan(500);
  });
});
