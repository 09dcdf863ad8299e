import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import { normalizeTimestamp } from '../../core/timestamps.ts';
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

/** A condition that the database applies. Every record that the expression accepts satisfies it. */
export interface DatabaseCondition {
  condition: Expression<SqlBool>;
  /** True if the expression accepts every record that satisfies the condition. The condition is then never null. */
  isExact: boolean;
  /** The opposite of an exact condition in a form that an index applies; the engines use none for `not (…)`. */
  opposite?: Expression<SqlBool>;
}

type Operator = Record<string, unknown>;

/**
 * Translates an expression to a condition on the columns of calls, as far as it is about columns. Returns undefined if the
 * database cannot narrow its rows by it. The expression is valid: `compileExpression` has accepted it.
 */
export function databaseCondition(expression: unknown): DatabaseCondition | undefined {
  const [[operator, value] = ['', undefined]] = Object.entries(Object(expression) as Operator);
  switch (operator) {
    case '$and': {
      const operands = value as unknown[];
      const parts = operands.map((operand) => databaseCondition(operand)).filter((part) => part !== undefined);
      if (parts.length === 0) return undefined;
      const isExact = parts.length === operands.length && parts.every((part) => part.isExact);
      return { condition: eb.and(parts.map(({ condition }) => condition)), isExact };
    }
    case '$or': {
      const parts = (value as unknown[]).map((operand) => databaseCondition(operand));
      if (parts.length === 0 || !parts.every((part) => part !== undefined)) return undefined;
      const condition = eb.or(parts.map(({ condition }) => condition));
      return { condition, isExact: parts.every(({ isExact }) => isExact) };
    }
    case '$not': {
      const part = databaseCondition((value as unknown[])[0]);
      return part?.isExact ? { condition: part.opposite ?? eb.not(part.condition), isExact: true } : undefined;
    }
    case '$eq': {
      const [field, literal] = value as unknown[];
      return equality(field, [literal]);
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
      return containment(value as Operator);
    default:
      return undefined;
  }
}

function equality(field: unknown, literals: unknown[]): DatabaseCondition | undefined {
  const column = columnOf(field, textColumns);
  const values = literals.map((literal) => (Object(literal) as Operator).$literal);
  if (!column || values.length === 0 || values.length > maxListedValues) return undefined;
  if (values.length === 1 && values[0] === null) {
    return { condition: eb(column, 'is', null), isExact: true, opposite: eb(column, 'is not', null) };
  }
  if (!values.every(isStorable)) return undefined;
  const compared = values.length === 1 ? eb(column, '=', values[0]!) : eb(column, 'in', values);
  return { condition: eb.and([eb(column, 'is not', null), compared]), isExact: true };
}

/** Returns whether the engines take a value as text. */
export function isStorable(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && value.isWellFormed();
}

function containment({ input, substr, case_insensitive }: Operator): DatabaseCondition | undefined {
  const column = columnOf(input, textColumns);
  const text = (Object(substr) as Operator).$literal;
  if (!column || !isStorable(text) || text === '' || case_insensitive === true) return undefined;
  // Unlike LIKE, it respects case in every engine.
  const removed = sql<SqlBool>`replace(${sql.ref(`calls.${column}`)}, ${text}, '') <> ${sql.ref(`calls.${column}`)}`;
  return { condition: eb.and([eb(column, 'is not', null), removed]), isExact: true };
}

function timeComparison(field: unknown, literal: unknown, operator: '$gt' | '$gte'): DatabaseCondition | undefined {
  const column = columnOf(field, timeColumns);
  const first = column && firstTime((Object(literal) as Operator).$literal, operator);
  if (!column || first === undefined) return undefined;
  const isBefore = eb(column, '<', first);
  return {
    condition: eb.and([eb(column, 'is not', null), eb(column, '>=', first)]),
    isExact: true,
    // Every call has started.
    opposite: column === 'started_at' ? isBefore : eb.or([eb(column, 'is', null), isBefore]),
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
