import { describe, expect, it } from 'vitest';
import { pagePosition, renderPage, withFirstRows } from '../../src/text/page.ts';

describe('pagePosition', () => {
  it('adds the offset of the next page only when more rows follow', () => {
    expect(pagePosition(10, 5, true)).toEqual({ offset: 10, next_offset: 15 });
    expect(pagePosition(10, 5, false)).toEqual({ offset: 10 });
  });
});

describe('renderPage', () => {
  it('states how to continue', () => {
    expect(renderPage('2 queues from offset 0.', [{ id: 'a' }, { id: 'b' }], ['id'], 2)).toBe(
      '2 queues from offset 0. More follow: next_offset 2.\nid\na\nb',
    );
    expect(renderPage('1 queue from offset 0.', [{ id: 'a' }], ['id'], undefined)).toBe(
      '1 queue from offset 0. This is the last page.\nid\na',
    );
  });
});

describe('withFirstRows', () => {
  it.each([
    [0.5, [1, 2]],
    [0.99, [1, 2, 3]],
    [0.01, [1]],
  ])('keeps a share of %d, but at least one row and never all', (share, kept) => {
    const page = { items: [1, 2, 3, 4], offset: 5, note: 'n' };
    const next_offset = 5 + kept.length;
    expect(withFirstRows(page, 'items', share)).toEqual({ items: kept, offset: 5, next_offset, note: 'n' });
  });

  it('fails with the offset to continue from when only one row is left', () => {
    expect(() => withFirstRows({ items: [1], offset: 7 }, 'items', 0.5)).toThrow(
      expect.objectContaining({
        code: 'too_large',
        message: 'The item at offset 7 alone exceeds the result limit.',
        hint: 'Continue with offset 8, or ask the user to raise HEDDLE_MAX_RESULT_CHARS.',
      }),
    );
  });
});
