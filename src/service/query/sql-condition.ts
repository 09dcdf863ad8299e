import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import { normalizeTimestamp } from '../../core/timestamps.ts';
import type { Database } from '../storage/database.ts';
import type { Tables } from '../storage/tables.ts';

/** Columns of calls that a condition of the database may compare; the record has the same values. */
const textColumns = [
  'id',
  'op_name',
  'trace_id',
  'parent_id',
  'thread_id',
  'turn_id',
  'display_name',
  'exception',
  'wb_user_id',
  'wb_run_id',
] as const;
const timeColumns = ['started_at', 'ended_at'] as const;
type Column = (typeof textColumns)[number] | (typeof timeColumns)[number];

/** Maximum number of values in one list; an engine allows 32,766 parameters in a statement. */
export const maxListedValues = 1000;

const eb = expressionBuilder<Tables, 'calls'>();

/** One of several conditions that must all hold. */
export interface ConditionPart {
  condition: Expression<SqlBool>;
  /**
   * Order in which an index finds the calls. Absent without an index: the database then tests one call after the other.
   */
  index?: 'in order of start' | 'in another order';
  /** Set for a limit of the time of start, which the ends of a range replace while calls are read range by range. */
  limits?: 'since' | 'before';
}

/** A condition that the database applies. Every record that the expression accepts satisfies all of its parts. */
export interface DatabaseCondition {
  parts: ConditionPart[];
  /** True if the expression accepts every record that satisfies the condition. The condition is then never null. */
  isExact: boolean;
  /** The opposite of an exact condition in a form that an index applies; the engines use none for `not (…)`. */
  opposite?: ConditionPart;
}

/** The operator of a database engine for LIKE that ignores the case of ASCII letters. */
export type CaseInsensitiveLike = Database['caseInsensitiveLike'];

type Operator = Record<string, unknown>;

/** Returns the exact condition that consists of one part. */
export function exactly(part: ConditionPart): DatabaseCondition {
  return { parts: [part], isExact: true };
}

/** Joins parts with AND. */
export function joinParts(parts: readonly ConditionPart[]): Expression<SqlBool> {
  return eb.and(parts.map(({ condition }) => condition));
}

/**
 * Translates an expression to a condition on the columns of calls, as far as it is about columns. Returns undefined if the
 * expression lets the database skip no rows. `compileExpression` must have accepted it.
 */
export function databaseCondition(
  expression: unknown,
  caseInsensitiveLike: CaseInsensitiveLike,
): DatabaseCondition | undefined {
  const [[operator, value] = ['', undefined]] = Object.entries(Object(expression) as Operator);
  switch (operator) {
    case '$and': {
      const operands = value as unknown[];
      const conditions = operands
        .map((operand) => databaseCondition(operand, caseInsensitiveLike))
        .filter((condition) => condition !== undefined);
      if (conditions.length === 0) return undefined;
      const isExact = conditions.length === operands.length && conditions.every((condition) => condition.isExact);
      return { parts: conditions.flatMap(({ parts }) => parts), isExact };
    }
    case '$or': {
      const alternatives = (value as unknown[]).map((operand) => databaseCondition(operand, caseInsensitiveLike));
      if (alternatives.length === 0 || !alternatives.every((one) => one !== undefined)) return undefined;
      const condition = eb.or(alternatives.map(({ parts }) => joinParts(parts)));
      return { parts: [{ condition }], isExact: alternatives.every(({ isExact }) => isExact) };
    }
    case '$not': {
      const negated = databaseCondition((value as unknown[])[0], caseInsensitiveLike);
      if (!negated?.isExact) return undefined;
      return exactly(negated.opposite ?? { condition: eb.not(joinParts(negated.parts)) });
    }
    case '$eq': {
      const [field, literal] = value as unknown[];
      return equality(field, [literal]) ?? textEquality(field, (Object(literal) as Operator).$literal);
    }
    case '$in': {
      const [field, literals] = value as [unknown, unknown[]];
      return equality(field, literals);
    }
    case '$gt':
    case '$gte': {
      const [field, literal] = value as unknown[];
      return timeComparison(field, literal, operator);
    }
    case '$contains':
      return containment(value as Operator, caseInsensitiveLike);
    default:
      return undefined;
  }
}

/** Columns whose equal values an index has in the order of start. */
const indexedColumns: readonly Column[] = ['id', 'op_name', 'trace_id', 'parent_id', 'thread_id'];

function equality(field: unknown, literals: unknown[]): DatabaseCondition | undefined {
  const column = columnOf(field, textColumns);
  const values = literals.map((literal) => (Object(literal) as Operator).$literal);
  if (!column || values.length === 0 || values.length > maxListedValues) return undefined;
  if (values.length === 1 && values[0] === null) {
    const opposite: ConditionPart = {
      condition: eb(column, 'is not', null),
      ...(column === 'exception' && { index: 'in order of start' }),
    };
    return { ...exactly({ condition: eb(column, 'is', null) }), opposite };
  }
  if (!values.every(isStorable)) return undefined;
  const compared = values.length === 1 ? eb(column, '=', values[0]!) : eb(column, 'in', values);
  const condition = eb.and([eb(column, 'is not', null), compared]);
  const isIndexed = indexedColumns.includes(column) && (values.length === 1 || column !== 'op_name');
  return exactly({ condition, ...(isIndexed && { index: 'in order of start' }) });
}

/** Translates the equality of a member of a value and a text, which the JSON of the value contains. */
function textEquality(field: unknown, text: unknown): DatabaseCondition | undefined {
  const column = jsonColumnOf(field);
  const pattern = column && isStorable(text) && patternIn(text, false);
  return pattern ? { parts: [{ condition: eb(column, 'like', pattern) }], isExact: false } : undefined;
}

/** Returns whether the engines take a value as text. */
export function isStorable(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && value.isWellFormed();
}

function containment(
  { input, substr, case_insensitive }: Operator,
  caseInsensitiveLike: CaseInsensitiveLike,
): DatabaseCondition | undefined {
  const text = (Object(substr) as Operator).$literal;
  if (!isStorable(text) || text === '') return undefined;
  const ignoresCase = case_insensitive === true;
  const column = ignoresCase ? undefined : columnOf(input, textColumns);
  if (column) {
    // Unlike LIKE, it respects case in every engine.
    const removed = sql<SqlBool>`replace(${sql.ref(`calls.${column}`)}, ${text}, '') <> ${sql.ref(`calls.${column}`)}`;
    return exactly({ condition: eb.and([eb(column, 'is not', null), removed]) });
  }
  const jsonColumn = jsonColumnOf(input);
  const pattern = jsonColumn && patternIn(text, ignoresCase);
  if (!pattern) return undefined;
  // A missing value counts as an empty object.
  const condition = eb.or([
    eb(jsonColumn, ignoresCase ? caseInsensitiveLike : 'like', pattern),
    eb(jsonColumn, 'is', null),
  ]);
  return { parts: [{ condition }], isExact: false };
}

const jsonColumns = ['inputs', 'output', 'attributes'] as const;

/** Returns the column with the JSON of the value that an operand reads, or of the value that contains it. */
function jsonColumnOf(operand: unknown): (typeof jsonColumns)[number] | undefined {
  const path = (Object(operand) as Operator).$getField;
  return typeof path === 'string' ? jsonColumns.find((column) => column === path.split('.', 1)[0]) : undefined;
}

/** Translates that the JSON of a value contains one of some strings; undefined if they are too many. */
export function stringsCondition(
  column: (typeof jsonColumns)[number],
  strings: readonly string[],
): DatabaseCondition | undefined {
  const patterns = strings.map((text) => (isStorable(text) ? patternIn(text, false) : undefined));
  if (patterns.length > maxPatterns || !patterns.every((pattern) => pattern !== undefined)) return undefined;
  return { parts: [{ condition: eb.or(patterns.map((pattern) => eb(column, 'like', pattern))) }], isExact: false };
}

/** Maximum number of patterns that are compared with the same value. */
const maxPatterns = 20;

/** Characters of a text that a pattern has; comparing more of them takes longer and finds hardly less. */
const maxPatternChars = 64;

/**
 * Returns a LIKE pattern that matches the JSON of every value whose text contains a text; undefined if it would match any.
 * @param ignoresCase true to ignore the case of ASCII letters, as each engine does.
 */
function patternIn(text: string, ignoresCase: boolean): string | undefined {
  const signs = [...text.slice(0, maxPatternChars).toWellFormed()].map((sign) => {
    // JSON may escape these. Letters beyond ASCII have the case that an engine does not know.
    if (sign < ' ' || '"\\\ufffd'.includes(sign) || (ignoresCase && sign > '~')) return '%';
    // The wildcards of a pattern, and the letters that are also the lower case of a letter beyond ASCII.
    return sign === '%' || sign === '_' || (ignoresCase && /[ik]/i.test(sign)) ? '_' : sign;
  });
  const pattern = `%${signs.join('')}%`;
  return /[^%_]/.test(pattern) ? pattern.replaceAll(/%+/g, '%') : undefined;
}

function timeComparison(field: unknown, literal: unknown, operator: '$gt' | '$gte'): DatabaseCondition | undefined {
  const column = columnOf(field, timeColumns);
  const first = column && firstTime((Object(literal) as Operator).$literal, operator);
  if (!column || first === undefined) return undefined;
  const isBefore = eb(column, '<', first);
  const condition = eb.and([eb(column, 'is not', null), eb(column, '>=', first)]);
  if (column !== 'started_at') {
    return { ...exactly({ condition }), opposite: { condition: eb.or([eb(column, 'is', null), isBefore]) } };
  }
  return {
    ...exactly({ condition, index: 'in order of start', limits: 'since' }),
    // Every call has started.
    opposite: { condition: isBefore, index: 'in order of start', limits: 'before' },
  };
}

/** Stored times have the years 0 to 9999. */
const firstStorable = Date.parse('0000-01-01T00:00:00Z');
const lastStorable = Date.parse('9999-12-31T00:00:00Z');

/** Returns the first stored time that is after, or not before, seconds since 1970 or a time. */
function firstTime(value: unknown, operator: '$gt' | '$gte'): string | undefined {
  const utc = typeof value === 'string' ? normalizeTimestamp(value) : undefined;
  const seconds = utc === undefined ? value : Date.parse(utc) / 1000;
  if (typeof seconds !== 'number') return undefined;
  let milliseconds = Math.floor(seconds * 1000) - 1;
  if (!(milliseconds >= firstStorable && milliseconds < lastStorable)) return undefined;
  while (operator === '$gt' ? milliseconds / 1000 <= seconds : milliseconds / 1000 < seconds) milliseconds += 1;
  return new Date(milliseconds).toISOString();
}

function columnOf<Name extends Column>(operand: unknown, columns: readonly Name[]): Name | undefined {
  const name = (Object(operand) as Operator).$getField;
  return columns.find((column) => column === name);
}

/** Returns the paths of all members that an expression reads. */
export function fieldsOf(expression: unknown): string[] {
  if (typeof expression !== 'object' || expression === null) return [];
  return Object.entries(expression).flatMap(([name, value]) => {
    if (name === '$literal') return [];
    return name === '$getField' && typeof value === 'string' ? [value] : fieldsOf(value);
  });
}
