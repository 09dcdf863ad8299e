import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { startBoardProcess } from '../support/board-process.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { ask, startHttp } from '../support/http-process.ts';
import { startServiceProcess } from '../support/service-process.ts';

/** Starts each server of heddle that takes requests with a body, and returns its URL. */
const servers: Record<string, () => Promise<string>> = {
  'heddle serve --http': async () => (await startHttp()).url,
  'heddle service start': async () => (await startServiceProcess()).url,
  'heddle board': async () => (await startBoardProcess([], emptyHome(temporaryFolder()))).url,
};

const tooLong = 'x'.repeat(20_000);

it.each(Object.entries(servers))(
  '%s refuses a long header although the client still sends the body',
  async (_, start) => {
    const { origin } = new URL(await start());
    const body = 'x'.repeat(16 * 1024 * 1024);
    // A reset would often, but not always, arrive before the refusal.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { status, body: text } = await ask(`${origin}/${tooLong}`, { body });
      expect([status, text]).toEqual([431, expect.stringContaining('The header is too large')]);
    }
  },
);

it.each(Object.entries(servers))('%s closes a refused connection that goes on sending', async (_, start) => {
  const { hostname, port } = new URL(await start());
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
