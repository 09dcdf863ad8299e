import type { Readable } from 'node:stream';
import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** Maximum size of one event in characters. */
const maxEventChars = 4 * 1024 * 1024;
/** Maximum size of a stream in bytes; the same as that of a response in one piece. */
const maxStreamBytes = 32 * 1024 * 1024;

/** An event; `truncated` if the stream ended before the blank line that ends it, so that its data may be incomplete. */
export type StreamEvent = EventSourceMessage & { truncated: boolean };

/**
 * Yields the server-sent events of a stream, and closes the stream at the end. `onBytes` is called whenever bytes arrive,
 * even without an event.
 * @throws RangeError if an event or the stream exceeds its limit; the error of the stream if it breaks.
 */
export async function* readEvents(stream: Readable, onBytes = (): void => {}): AsyncGenerator<StreamEvent> {
  const events: StreamEvent[] = [];
  let truncated = false;
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: (event) => events.push({ ...event, truncated }),
    onError: ({ type }) => {
      if (type !== 'max-buffer-size-exceeded') return;
      throw new RangeError(`has an event of more than ${maxEventChars} characters`);
    },
  });
  const feed = (text: string): StreamEvent[] => {
    parser.feed(text);
    return events.splice(0);
  };
  const decoder = new TextDecoder();
  let size = 0;
  try {
    for await (const bytes of stream as AsyncIterable<Uint8Array>) {
      onBytes();
      size += bytes.length;
      if (size > maxStreamBytes) throw new RangeError(`is larger than ${maxStreamBytes} bytes`);
      yield* feed(decoder.decode(bytes, { stream: true }));
    }
    truncated = true;
    // The first line end ends a last line, or completes its CR LF; the second ends the event.
    yield* feed(`${decoder.decode()}\n\n`);
  } finally {
    stream.destroy();
  }
}
