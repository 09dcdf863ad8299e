import { describe, expect, it } from 'vitest';
import { memoryBytesOf, totalMemoryOf } from '../../../src/service/storage/memory-bytes.ts';

describe('memoryBytesOf', () => {
  it.each([
    ['"text with [{:,"', 64],
    ['[1,2]', 20 + 48 + 8],
    ['[{},{}]', 28 + 3 * 48 + 8],
    ['{"a":1}', 28 + 48 + 32],
  ])('counts the characters, lists, objects, members and elements of %s', (json, bytes) => {
    expect(memoryBytesOf(json)).toBe(bytes);
  });

  it('adds up several texts, of which some may be missing, to at most what a column holds', () => {
    expect(memoryBytesOf('1', null, '22')).toBe(12);
    expect(memoryBytesOf('['.repeat(20_000_000))).toBe(1_000_000_000);
  });
});

describe('totalMemoryOf', () => {
  it('adds up the memory of rows', () => {
    expect(totalMemoryOf([{ memory_bytes: 2 }, { memory_bytes: 3 }])).toBe(5);
  });
});
