import { describe, expect, it } from 'vitest';
import { drawResult } from '../../../src/cli/terminal/draw-result.ts';
import { progressBar } from '../../../src/cli/terminal/progress.ts';
import { drawRecord, drawTable, widthOf } from '../../../src/cli/terminal/table.ts';

const lines = (...texts: string[]): string => texts.join('\n');

describe('drawTable', () => {
  it('aligns text at the left and numbers at the right, and leaves empty columns out', () => {
    const rows = [
      { id: 'a', items: 3, note: null, state: 'unstarted' },
      { id: 'bcd', items: 12, note: '', state: 'done' },
    ];
    expect(drawTable(rows, { width: 80 })).toBe(
      lines('id   items  state', 'a        3  unstarted', 'bcd     12  done'),
    );
  });

  it('shortens the widest columns to fit the width, except columns marked as uncut', () => {
    const rows = [{ id: 'x'.repeat(20), question: 'q'.repeat(60), answer: 'a'.repeat(15) }];
    expect(drawTable(rows, { width: 60, uncut: ['id'] })).toBe(
      lines(
        'id                    question               answer',
        'xxxxxxxxxxxxxxxxxxxx  qqqqqqqqqqqqqqqqqqqq…  aaaaaaaaaaaaaaa',
      ),
    );
  });

  it('counts wide characters as two columns', () => {
    const drawn = drawTable([{ a: '質問'.repeat(20), b: 'x' }], { width: 30 });
    expect(drawn.split('\n').map(widthOf)).toEqual([30, 30]);
  });

  it('writes each row as a list where the columns do not fit', () => {
    const names = ['one', 'two', 'three', 'four', 'five'];
    const row = Object.fromEntries(names.map((name) => [name, `${name} `.repeat(10)]));
    const drawn = drawTable([row, row], { width: 40 });
    expect(drawn.split('\n\n')).toHaveLength(2);
    for (const line of drawn.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(40);
    expect(drawn).toContain('one    one one one');
  });

  it('escapes control characters, so that a value cannot change the terminal', () => {
    const drawn = drawTable([{ a: 'x\u001b[2Jy\u009bz\u202e', b: 'one\ntwo' }], { width: 80 });
    expect(drawn).toBe(lines('a                         b', 'x\\u001b[2Jy\\u009bz\\u202e  one two'));
  });
});

describe('drawRecord', () => {
  it('wraps values beside their names and keeps their line breaks', () => {
    expect(drawRecord({ answer: 'A refund takes five days.\nAsk again.', n: 1, none: null }, { width: 24 })).toBe(
      lines('answer  A refund takes', '        five days.', '        Ask again.', 'n       1'),
    );
  });
});

describe('drawResult', () => {
  it('draws lists of objects as tables and the other members below', () => {
    const result = {
      items: [
        { id: 'i1', call_values: { 'inputs.q': 'Why?' } },
        { id: 'i2', call_values: { 'inputs.q': 'How?' } },
      ],
      common: { annotation_state: 'unstarted' },
      omitted_fields: ['a', 'b'],
      next_offset: 2,
    };
    expect(drawResult(result, 80)).toBe(
      lines(
        'items: 2',
        'id  inputs.q',
        'i1  Why?',
        'i2  How?',
        '',
        'common.annotation_state  unstarted',
        'omitted_fields           a, b',
        'next_offset              2',
      ),
    );
  });

  it('leaves out an empty list, and shows the values of a single row in full', () => {
    const text = 'word '.repeat(30).trim();
    const drawn = drawResult({ response: { choices: [{ index: 0, message: { content: text } }] }, items: [] }, 60);
    expect(drawn.replaceAll(/\s+/g, ' ')).toContain(text);
  });
});

describe('progressBar', () => {
  it('shows the share that is done', () => {
    expect(progressBar('writing', 5, 10)).toBe('writing [###############...............] 5 of 10');
    expect(progressBar('reading line', 500)).toBe('reading line 500');
    expect(progressBar('writing', 0, 0)).toBe('writing [##############################] 0 of 0');
  });
});
