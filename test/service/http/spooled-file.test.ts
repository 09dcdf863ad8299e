import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { DiskBudget, SpooledFile } from '../../../src/service/http/spooled-file.ts';

const mebibyte = 1024 * 1024;
const stream = (bytes: number) => Readable.from([Buffer.alloc(bytes, 1)]);

describe('SpooledFile', () => {
  it('shares a limit on disk space with other files, and releases its part when closed', async () => {
    const budget = new DiskBudget(5 * mebibyte);
    const first = new SpooledFile(budget);
    await first.fill(stream(3 * mebibyte));
    const second = new SpooledFile(budget);
    await expect(second.fill(stream(3 * mebibyte))).rejects.toMatchObject({ status: 503 });
    await second.close();
    // Bytes in memory do not count towards it.
    const small = new SpooledFile(budget);
    await small.fill(stream(mebibyte - 1));
    await first.close();
    const third = new SpooledFile(budget);
    await third.fill(stream(5 * mebibyte));
    let bytes = 0;
    for await (const chunk of third.chunks()) bytes += chunk.length;
    expect([third.sizeBytes, bytes]).toEqual([5 * mebibyte, 5 * mebibyte]);
    await third.close();
  });
});
