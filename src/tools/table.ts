/**
 * A compact table for a model that pays by the token: one line a row, cells parted by tabs, and columns that have the
 * same value in every row said once above. Every member of every row is in it.
 */
export function compactTable(rows: readonly Record<string, unknown>[], columnOrder: readonly string[]): string {
  const present = new Set(rows.flatMap((row) => Object.keys(row)));
  const columns = [
    ...columnOrder.filter((name) => present.has(name)),
    ...[...present].filter((name) => !columnOrder.includes(name)),
  ];
  // Own members only: a column may be named like something that every object inherits.
  const cells = new Map(
    columns.map((name) => [name, rows.map((row) => (Object.hasOwn(row, name) ? cell(row[name]) : ''))]),
  );
  const constant = columns.filter((name) => rows.length > 1 && new Set(cells.get(name)).size === 1);
  const varying = columns.filter((name) => !constant.includes(name));
  const lines = [
    ...(constant.length > 0
      ? [`same in every row: ${constant.map((name) => `${cell(name)}=${cells.get(name)![0]}`).join(' ')}`]
      : []),
    varying.map(cell).join('\t'),
    ...rows.map((_, index) => varying.map((name) => cells.get(name)![index]).join('\t')),
  ];
  return lines.join('\n');
}

/**
 * What a reader does not see, in which text can hide or change what stands around it. A single variation selector that
 * makes an emoji of a sign hides nothing.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{2800}]|(?!\u{fe0f}(?!\p{DI}))\p{DI}/gu;

/**
 * One value on one line. Text that could be mistaken for anything else (empty, a quotation, a number, null, text with
 * tabs, line ends, escape sequences or invisible characters) is written as a JSON string; nothing is an absent member.
 */
export function cell(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return escapeInvisible(JSON.stringify(value));
  // The service sends milliseconds that are mostly zero; without them the instant is the same.
  const text = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/.test(value) ? value.replace('.000Z', 'Z') : value;
  const plain = text !== '' && text === text.trim() && !/^(["[{]|null$|true$|false$|-?\d+(\.\d+)?$)/.test(text);
  return plain && text.search(invisible) === -1 ? text : escapeInvisible(JSON.stringify(text));
}

/** Escapes what a reader would not see: controls, bidirectional marks, tag characters, line separators, half characters. */
export function escapeInvisible(text: string): string {
  return text.replace(invisible, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
