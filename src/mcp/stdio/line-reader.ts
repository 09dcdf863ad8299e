/** As much is kept of both ends of a line that is too long, in bytes: enough to find the id of a request there. */
const keptBytes = 512;

export interface LineEvents {
  onLine: (line: string) => void;
  /** A line beyond the limit has ended; `head` and `tail` are its ends, `bytes` its length. */
  onTooLong: (line: { head: string; tail: string; bytes: number }) => void;
}

/** Cuts a stream of bytes into lines, never keeping more of one than a limit. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #events: LineEvents;
  #parts: Buffer[] = [];
  /** Bytes of the line so far, kept or not. */
  #size = 0;
  #head = '';
  #tail = Buffer.alloc(0);

  constructor(maxBytes: number, events: LineEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
  }

  feed(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      this.#take(bytes.subarray(start, end));
      this.end();
      start = end + 1;
    }
    this.#take(bytes.subarray(start));
  }

  /** Ends the line that has begun, if any: the last one may lack its line end. */
  end(): void {
    const [parts, bytes, head] = [this.#parts, this.#size, this.#head];
    this.#parts = [];
    this.#size = 0;
    this.#head = '';
    if (bytes > this.#maxBytes) this.#events.onTooLong({ head, tail: this.#tail.toString('utf8'), bytes });
    else if (bytes > 0) this.#events.onLine(Buffer.concat(parts, bytes).toString('utf8'));
    this.#tail = Buffer.alloc(0);
  }

  #take(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size <= this.#maxBytes) {
      this.#parts.push(part);
      return;
    }
    if (this.#parts.length > 0 || this.#head === '') {
      const kept = Buffer.concat([...this.#parts, part]);
      this.#head = kept.toString('utf8', 0, keptBytes);
      this.#parts = [];
    }
    this.#tail = Buffer.from(Buffer.concat([this.#tail, part.subarray(-keptBytes)]).subarray(-keptBytes));
  }
}
