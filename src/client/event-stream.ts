import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';

/** Largest single event that is taken, in characters. */
const maxEventChars = 4 * 1024 * 1024;

/**
 * The `data` of every server-sent event in the order of arrival, however the bytes are cut.
 * @throws Error when an event exceeds the limit or the stream breaks; the stream is closed in every case.
 */
export async function* eventData(stream: Readable): AsyncGenerator<string> {
  const ready: string[] = [];
  let oversize: Error | undefined;
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: (event) => ready.push(event.data),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') oversize = new Error('an event of the stream is too large');
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const bytes of stream) {
      parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
      yield* ready.splice(0);
      if (oversize) throw oversize;
    }
    // A last event may lack the blank line that ends it.
    parser.feed(`${decoder.decode()}\n\n`);
    yield* ready.splice(0);
  } finally {
    stream.destroy();
  }
}
