import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { UploadedFile } from '../../contract/files.ts';
import { HeddleError } from '../../core/errors.ts';
import { tooBusy } from '../../core/http/body-reader.ts';
import { finishDigest } from '../storage/digest.ts';

/** Bytes that are kept in memory before they go to the disk; most files of the SDK, which are source code, are smaller. */
const maxMemoryBytes = 1024 * 1024;
const chunkBytes = 256 * 1024;

/** Bounds the bytes of all files that are on disk at once. */
export class DiskBudget {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @throws Refusal 503 when there would be too many. */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) throw tooBusy();
    this.#bytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** A file that is being received. What does not fit into a little memory is in a temporary file that has no name. */
export class SpooledFile implements UploadedFile {
  digest = '';
  sizeBytes = 0;
  readonly #budget: DiskBudget;
  /** The last bytes, which are not on disk. */
  #memory = Buffer.alloc(0);
  #disk: FileHandle | undefined;
  #diskBytes = 0;

  constructor(budget: DiskBudget) {
    this.#budget = budget;
  }

  /**
   * Receives a whole stream.
   * @throws HeddleError `service_unavailable` if the temporary folder cannot be written, Refusal 503 if other files take
   * all of the budget.
   */
  async fill(stream: Readable): Promise<void> {
    const hash = createHash('sha256');
    let parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of stream as AsyncIterable<Buffer>) {
      hash.update(part);
      parts.push(part);
      bytes += part.length;
      this.sizeBytes += part.length;
      if (bytes < maxMemoryBytes) continue;
      await this.#write(Buffer.concat(parts));
      parts = [];
      bytes = 0;
    }
    this.#memory = Buffer.concat(parts);
    this.digest = finishDigest(hash);
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    for (let start = 0; start < this.#diskBytes; start += chunkBytes) {
      const length = Math.min(chunkBytes, this.#diskBytes - start);
      const { bytesRead, buffer } = await this.#disk!.read(Buffer.alloc(length), 0, length, start);
      if (bytesRead < length) throw new Error('the temporary file has lost bytes');
      yield buffer;
    }
    for (let start = 0; start < this.#memory.length; start += chunkBytes) {
      yield this.#memory.subarray(start, start + chunkBytes);
    }
  }

  async close(): Promise<void> {
    await this.#disk?.close();
    this.#disk = undefined;
    this.#budget.giveBack(this.#diskBytes);
    this.#diskBytes = 0;
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#budget.take(bytes.length);
    this.#diskBytes += bytes.length;
    try {
      this.#disk ??= await openNameless();
      await this.#disk.appendFile(bytes);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new HeddleError({
        code: 'service_unavailable',
        status: 503,
        message: `The uploaded file cannot be written to the temporary folder ${tmpdir()} (${code}).`,
        hint: 'Free some space there or make it writable, or set TMPDIR to another folder.',
        cause,
      });
    }
  }
}

/** Opens a temporary file whose name is removed at once, so that nothing remains of it after a crash. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `heddle-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}
