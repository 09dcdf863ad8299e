import { type HeddleError, invalidArgument } from '../core/errors.ts';
import { nearestSentence, shortName } from './names.ts';

type Row = Record<string, unknown>;

/** Rows as a result shows them to a reader who pays for each word. */
export interface ShownRows {
  items: Row[];
  /** Members that are the same in every row, stated once. */
  common?: Row;
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
  const wanted = [...new Set([...always, ...(fields ?? defaults)])];
  const { columns, present } = readColumns(rows, wanted);
  const unknown = fields?.find((name) => !present.has(name) && !known.includes(name) && !always.includes(name));
  if (unknown !== undefined) throw unknownField(unknown, [...new Set([...known, ...present])]);
  const shared = columns.filter(isCommon);
  const single = columns.filter((column) => !shared.includes(column));
  // An empty list or object says something of all rows together, such as that none of them is judged.
  const isMissing = (value: unknown): boolean => value === null || value === undefined || value === '';
  const common = rowOf(shared, 0, isMissing);
  return {
    items: rows.map((_, index) => rowOf(single, index, rows.length === 1 ? isMissing : isEmptyValue)),
    ...(Object.keys(common).length > 0 && { common }),
  };
}

/** The values of a member of all rows; undefined where a row lacks it. */
interface Column {
  name: string;
  values: unknown[];
}

/** A member as it is met in the rows; `values` if it is wanted. */
interface Member {
  name: string;
  values?: unknown[];
  hasContent: boolean;
}

/** Reads each row once: the columns that are wanted, and the names of the members that have content in some row. */
function readColumns(rows: readonly Row[], wanted: readonly string[]): { columns: Column[]; present: Set<string> } {
  const columns = wanted.map((name) => ({ name, values: Array(rows.length).fill(undefined), hasContent: false }));
  const members = new Map<string, Member>(columns.map((column) => [column.name, column]));
  const memberOf = (name: string): Member => {
    const member = members.get(name) ?? { name, hasContent: false };
    members.set(name, member);
    return member;
  };
  // Most rows have the same members as the row before.
  let names: string[] = [];
  let inOrder: Member[] = [];
  for (const [index, row] of rows.entries()) {
    const rowNames = Object.keys(row);
    if (rowNames.length !== names.length || rowNames.some((name, at) => name !== names[at])) {
      names = rowNames;
      inOrder = names.map(memberOf);
    }
    const values = Object.values(row);
    for (const [at, member] of inOrder.entries()) {
      const value = values[at];
      if (member.values) member.values[index] = value;
      if (!member.hasContent) member.hasContent = !isEmptyValue(value);
    }
  }
  const present = new Set([...members.values()].filter(({ hasContent }) => hasContent).map(({ name }) => name));
  return { columns, present };
}

function isCommon({ values }: Column): boolean {
  const [first] = values;
  if (values.length < 2 || first === undefined) return false;
  if (typeof first !== 'object' || first === null) return values.every((value) => value === first);
  const text = JSON.stringify(first);
  return values.every((value) => JSON.stringify(value) === text);
}

function rowOf(columns: readonly Column[], index: number, isLeftOut: (value: unknown) => boolean): Row {
  const members: [string, unknown][] = [];
  for (const { name, values } of columns) {
    const value = values[index];
    if (value !== undefined && !isLeftOut(value)) members.push([name, value]);
  }
  return Object.fromEntries(members);
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
