type Row = Record<string, unknown>;

interface Column {
  name: string;
  cells: string[];
}

/**
 * A compact table for a model that pays by the token: one line a row, cells parted by tabs. Columns that have the same
 * value in every row are said once above, and so is a column that is equal to another one. Every member of every row is
 * in it.
 */
export function compactTable(rows: readonly Row[], columnOrder: readonly string[]): string {
  const present = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) present.add(name);
  const names = new Set([...columnOrder.filter((name) => present.has(name)), ...present]);
  const constants: string[] = [];
  const equals: string[] = [];
  const columns: Column[] = [];
  for (const name of names) {
    const cells = cellsOf(rows, name);
    const twin = columns.find((column) => column.cells.every((text, row) => text === cells[row]));
    if (rows.length > 1 && cells.every((text) => text === cells[0])) constants.push(`${cell(name)}=${cells[0]}`);
    else if (rows.length > 1 && twin) equals.push(`${cell(name)}=${cell(twin.name)}`);
    else columns.push({ name, cells });
  }
  return [
    ...(constants.length > 0 ? [`same in every row: ${constants.join(' ')}`] : []),
    ...(equals.length > 0 ? [`columns equal to another: ${equals.join(' ')}`] : []),
    columns.map(({ name }) => cell(name)).join('\t'),
    ...rows.map((_, row) => columns.map(({ cells }) => cells[row]).join('\t')),
  ].join('\n');
}

function cellsOf(rows: readonly Row[], name: string): string[] {
  let last: unknown;
  let text = '';
  return rows.map((row) => {
    // Own members only: a column may be named like something that every object inherits.
    const value = Object.hasOwn(row, name) ? row[name] : undefined;
    if (value !== last) text = cell(value);
    last = value;
    return text;
  });
}

/**
 * What a reader does not see, in which text can hide or change what stands around it. A single variation selector that
 * makes an emoji of a sign hides nothing.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{2800}]|(?!\u{fe0f}(?!\p{DI}))\p{DI}/gu;

/** What most values are: ids, times, names. Nothing in it needs a closer look, and with a letter it is no number. */
const ordinary = /^[\w.:/@+=-]*[A-Za-z][\w.:/@+=-]*$/;

/**
 * One value on one line. Text that could be mistaken for anything else (empty, a quotation, a number, null, text with
 * tabs, line ends, escape sequences or invisible characters) is written as a JSON string; nothing is an absent member.
 */
export function cell(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return escapeInvisible(JSON.stringify(value));
  if (ordinary.test(value) && !value.endsWith('.000Z') && !['null', 'true', 'false'].includes(value)) return value;
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
