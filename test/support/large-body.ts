import { connect } from 'node:net';

/** The ways to send a body of 100 MB: with its size, or without. */
export const framings = [
  ['declared', `Content-Length: ${100 * 1024 * 1024}`],
  ['not declared', 'Transfer-Encoding: chunked'],
] as const;

/** Sends a body of up to 100 MB to `/mcp` until the server closes the connection, and returns its answer. */
export async function sendLargeBody(url: string, framing: string): Promise<{ answer: string; sentMegabytes: number }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text;
  });
  // Bytes in flight when the server closes cause an error, but the response has arrived before.
  const closed = new Promise<void>((resolve) => socket.on('error', () => {}).on('close', () => resolve()));
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${framing}\r\n\r\n`,
  );
  const megabyte = 'a'.repeat(1024 * 1024);
  const part = framing.startsWith('T') ? `100000\r\n${megabyte}\r\n` : megabyte;
  let sentMegabytes = 0;
  while (sentMegabytes < 100 && !socket.destroyed) {
    sentMegabytes += 1;
    if (!socket.write(part)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
  await closed;
  return { answer, sentMegabytes };
}
