import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';

/** Largest single event that is taken, in characters. */
const maxEventChars = 4 * 1024 * 1024;
/** Largest stream that is taken, in bytes; the limit of an answer in one piece is the same. */
const maxStreamBytes = 32 * 1024 * 1024;

export interface StreamEvent {
  /** Its `event` field, where it has one. */
  name?: string;
  data: string;
  /** The stream ended before the event did: the data may be incomplete. */
  cut: boolean;
}

/**
 * The server-sent events of a stream in the order of arrival, however the bytes are cut. `onBytes` is called whenever
 * something arrives, also where it is no event.
 * @throws RangeError when an event or the stream exceeds its limit; whatever the stream breaks with. The stream is
 * closed in every case.
 */
export async function* readEvents(stream: Readable, onBytes = (): void => {}): AsyncGenerator<StreamEvent> {
  const ready: StreamEvent[] = [];
  let oversize = false;
  let cut = false;
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: ({ event, data }) => ready.push({ ...(event !== undefined && { name: event }), data, cut }),
    onError: (error) => {
      oversize ||= error.type === 'max-buffer-size-exceeded';
    },
  });
  const decoder = new TextDecoder();
  let size = 0;
  let last = '';
  const feed = (text: string): StreamEvent[] => {
    parser.feed(text);
    last = text.at(-1) ?? last;
    if (oversize) throw new RangeError(`has an event of more than ${maxEventChars} characters`);
    return ready.splice(0);
  };
  try {
    for await (const bytes of stream as AsyncIterable<Uint8Array>) {
      onBytes();
      size += bytes.length;
      if (size > maxStreamBytes) throw new RangeError(`is larger than ${maxStreamBytes} bytes`);
      yield* feed(decoder.decode(bytes, { stream: true }));
    }
    yield* feed(decoder.decode());
    // The parser keeps a last CR back, since LF could follow; together they are one line end.
    if (last === '\r') yield* feed('\n');
    // A last event may lack the blank line that ends it.
    cut = true;
    yield* feed('\n\n');
  } finally {
    stream.destroy();
  }
}
