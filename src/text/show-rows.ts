import { type HeddleError, invalidArgument } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { nearestSentence, shortName } from './names.ts';

type Row = Record<string, unknown>;

/** Rows as a result shows them to a reader who pays for each word. */
export interface ShownRows {
  items: Row[];
  /** Members that are the same in every row, stated once. */
  common?: Row;
  /** Members that some row has and that were not asked for. */
  omitted_fields?: string[];
}

export interface RowSelection {
  /** Members that were asked for; `*` stands for all of them, just as the service sent them. */
  fields: readonly string[] | undefined;
  /** Members that are shown when nothing was asked for. */
  defaults: readonly string[];
  /** Members that are always shown. */
  always: readonly string[];
  /** Members that a row may have, although none of these rows does. */
  known: readonly string[];
}

/**
 * Reduces rows to the members that were asked for. Members without content are left out, and what is the same in every row is
 * stated once.
 * @throws HeddleError `invalid_arguments` for a field that no row can have.
 */
export function showRows(rows: readonly Row[], { fields, defaults, always, known }: RowSelection): ShownRows {
  if (fields?.includes('*')) return { items: [...rows] };
  const present = new Set(
    rows.flatMap((row) => Object.keys(row).filter((name) => !isEmptyValue(ownMember(row, name)))),
  );
  const wanted = [...new Set([...always, ...(fields ?? defaults)])];
  const unknown = fields?.find((name) => !present.has(name) && !known.includes(name) && !always.includes(name));
  if (unknown !== undefined) throw unknownField(unknown, [...new Set([...known, ...present])]);
  const isCommon = (name: string): boolean => {
    const [first] = rows;
    const text = JSON.stringify(ownMember(first, name));
    return rows.length > 1 && text !== undefined && rows.every((row) => JSON.stringify(ownMember(row, name)) === text);
  };
  const shared = wanted.filter(isCommon);
  // An empty list says something of all rows together, such as that none of them is judged.
  const isMissing = (value: unknown): boolean => isEmptyValue(value) && !Array.isArray(value);
  const common = select(rows[0] ?? {}, shared, isMissing);
  const single = wanted.filter((name) => !shared.includes(name));
  const omitted_fields = shortList([...present].filter((name) => !wanted.includes(name)));
  return {
    items: rows.map((row) => select(row, single, rows.length === 1 ? isMissing : isEmptyValue)),
    ...(Object.keys(common).length > 0 && { common }),
    ...(omitted_fields.length > 0 && { omitted_fields }),
  };
}

/** Omitted fields that are named. */
const maxNamed = 30;

function shortList(names: readonly string[]): string[] {
  const rest = names.length - maxNamed;
  return [...names.slice(0, maxNamed).map(shortName), ...(rest > 0 ? [`…[+${rest}]`] : [])];
}

function select(row: Row, names: readonly string[], isLeftOut: (value: unknown) => boolean): Row {
  const members = names.map((name) => [name, ownMember(row, name)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined && !isLeftOut(value)));
}

/** Returns whether a value has no content: null, undefined, an empty text, list or object. */
export function isEmptyValue(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function unknownField(name: string, known: readonly string[]): HeddleError {
  return invalidArgument('fields', {
    fault: `No field ${JSON.stringify(shortName(name))}`,
    hint: `${nearestSentence('fields', name, known)} ["*"] returns all.`,
  });
}
