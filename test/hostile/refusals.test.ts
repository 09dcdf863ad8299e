import { connect } from 'node:net';
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
