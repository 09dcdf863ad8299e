import type { Socket } from 'node:net';

/** The head of an interim response that tells a client to go on sending. */
const continueHead = /^HTTP\/1\.[01] 100[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n/;
const maxHeadBytes = 1024;

/**
 * Makes a connection skip unasked `100 Continue` responses, which undici takes for the end of HTTP. No body of JSON or
 * events contains such a head.
 */
export function skipContinue(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      if (!Buffer.isBuffer(chunk)) return chunk;
      const head = continueHead.exec(chunk.toString('latin1', 0, maxHeadBytes))?.[0];
      if (head === undefined) return chunk;
      if (chunk.length > head.length) socket.unshift(chunk.subarray(head.length));
    }
  };
  return socket;
}
