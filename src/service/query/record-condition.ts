import { Refusal } from '../../core/http/refusal.ts';
import { normalizeTimestamp } from '../../core/timestamps.ts';

/** A call or another record. */
type Members = Record<string, unknown>;

/** Returns a value of a record, or of a constant. */
type Operand = (record: Members) => unknown;

/** Maximum number of operands in a condition; every one is evaluated for every record. */
const maxOperands = 1000;

const timeFields = new Set(['started_at', 'ended_at', 'deleted_at', 'created_at']);

/**
 * Compiles a condition in the form of a MongoDB expression: `$and`, `$or`, `$not`, `$eq`, `$gt`, `$gte`, `$in`,
 * `$contains`, `$convert`, `$getField` and `$literal`.
 * @throws Refusal 422 for anything else, and for more than 1,000 operands.
 */
export function compileExpression(expression: unknown): (record: Members) => boolean {
  const operand = new Compiler().operand(expression);
  return (record) => operand(record) === true;
}

class Compiler {
  #operands = 0;

  operand(expression: unknown): Operand {
    this.#operands += 1;
    if (this.#operands > maxOperands) throw invalid(`more than ${maxOperands} operands`);
    const [entry, ...others] = Object.entries(Object(expression) as Record<string, unknown>);
    if (entry === undefined || others.length > 0) throw invalid('an operand is an object with one member');
    const [operator, value] = entry;
    switch (operator) {
      case '$literal':
        return () => value;
      case '$getField':
        return field(value);
      case '$and': {
        const operands = this.#list(value);
        return (record) => operands.every((operand) => operand(record) === true);
      }
      case '$or': {
        const operands = this.#list(value);
        return (record) => operands.some((operand) => operand(record) === true);
      }
      case '$not': {
        const [operand] = this.#list(value, 1);
        return (record) => operand!(record) !== true;
      }
      case '$eq':
        return this.#comparison(value, (a, b) => a === b);
      case '$gt':
        return this.#comparison(value, (a, b) => orderOf(a, b) === 1);
      case '$gte':
        return this.#comparison(value, (a, b) => orderOf(a, b) >= 0);
      case '$in':
        return this.#membership(value);
      case '$contains':
        return this.#contains(value);
      case '$convert':
        return this.#conversion(value);
      default:
        throw invalid(`unknown operator ${operator}`);
    }
  }

  #list(value: unknown, length?: number): Operand[] {
    if (!Array.isArray(value) || (length !== undefined && value.length !== length)) {
      throw invalid(`expected a list${length === undefined ? '' : ` of ${length}`}`);
    }
    return value.map((operand) => this.operand(operand));
  }

  #comparison(value: unknown, compare: (a: unknown, b: unknown) => boolean): Operand {
    const [left, right] = this.#list(value, 2);
    return (record) => {
      const [a, b] = alike(left!(record), right!(record));
      return compare(a, b);
    };
  }

  #membership(value: unknown): Operand {
    if (!Array.isArray(value) || value.length !== 2) throw invalid('$in takes an operand and a list');
    const operand = this.operand(value[0]);
    const members = this.#list(value[1]);
    return (record) => {
      const found = operand(record);
      return members.some((member) => {
        const [a, b] = alike(found, member(record));
        return a === b;
      });
    };
  }

  #contains(value: unknown): Operand {
    const { input, substr, case_insensitive } = Object(value) as Record<string, unknown>;
    const whole = this.operand(input);
    const part = this.operand(substr);
    const fold = (text: string): string => (case_insensitive === true ? text.toLowerCase() : text);
    return (record) => fold(asText(whole(record))).includes(fold(asText(part(record))));
  }

  #conversion(value: unknown): Operand {
    const { input, to } = Object(value) as Record<string, unknown>;
    const convert = typeof to === 'string' ? conversions.get(to) : undefined;
    if (!convert) throw invalid(`$convert to ${JSON.stringify(to)}`);
    const operand = this.operand(input);
    return (record) => convert(operand(record));
  }
}

const conversions = new Map<string, (value: unknown) => unknown>([
  ['double', asNumber],
  [
    'int',
    (value) => {
      const number = asNumber(value);
      return number === undefined ? undefined : Math.trunc(number);
    },
  ],
  ['string', asText],
  ['bool', (value) => (typeof value === 'string' ? value === 'true' : Boolean(value))],
  ['exists', (value) => value !== undefined && value !== null],
]);

function field(path: unknown): Operand {
  if (typeof path !== 'string' || path === '') throw invalid('$getField takes the path of a member');
  // Times compare as numbers: seconds since 1970, as the public service has them.
  if (timeFields.has(path)) return (record) => secondsOf(fieldAt(record, path));
  return (record) => fieldAt(record, path);
}

/** Returns the value of a record at a dotted path; undefined if there is none. */
export function fieldAt(record: Members, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? (value as Record<string, unknown>)[name]
          : undefined,
      record,
    );
}

/** Converts two values for a comparison, as the public service does: by the type of the second one. */
function alike(a: unknown, b: unknown): [unknown, unknown] {
  if (typeof a === 'number' && typeof b === 'string') return [a, secondsOf(b) ?? asNumber(b)];
  if (typeof b === 'number') return [asNumber(a), b];
  if (typeof b === 'string' && a !== undefined && a !== null) return [asText(a), b];
  return [a ?? null, b ?? null];
}

/** Returns 1, 0 or -1 for two numbers or two strings, and NaN for values that have no order. */
function orderOf(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return Math.sign(a - b);
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : a > b ? 1 : -1;
  return Number.NaN;
}

function asNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  return Number.isNaN(number) ? undefined : number;
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function secondsOf(value: unknown): number | undefined {
  const utc = typeof value === 'string' ? normalizeTimestamp(value) : undefined;
  return utc === undefined ? undefined : Date.parse(utc) / 1000;
}

function invalid(reason: string): Refusal {
  const msg = `Invalid query: ${reason}`;
  return new Refusal(422, msg, { body: { detail: [{ loc: ['body', 'query', '$expr'], msg, type: 'value_error' }] } });
}

/**
 * Returns the ids that an expression names: `$eq` of `id` and a literal, or `$or` of several.
 * @throws Refusal 400 for any other expression.
 */
export function idsIn(expression: unknown): string[] {
  const { $or } = Object(expression) as Record<string, unknown>;
  const parts = (Array.isArray($or) ? $or : [expression]).map((part) => columnConditions(part, ['id']));
  if (parts.length === 0 || parts.some(({ isComplete }) => !isComplete)) {
    throw new Refusal(400, 'Can only purge by one or more ids');
  }
  return parts.flatMap(({ conditions }) => conditions.flatMap(({ values }) => values));
}

/** A condition that a column is one of some strings. */
export interface ColumnCondition<Column extends string> {
  column: Column;
  values: string[];
}

/**
 * Returns the conditions on columns that an expression implies, for the database to narrow its rows with, and whether they
 * are all that it says. `$eq` and `$in` of a column and strings are conditions, alone or in `$and`.
 */
export function columnConditions<Column extends string>(
  expression: unknown,
  columns: readonly Column[],
): { conditions: ColumnCondition<Column>[]; isComplete: boolean } {
  const { $and, $eq, $in } = Object(expression) as Record<string, unknown>;
  if (Array.isArray($and)) {
    const parts = $and.map((operand) => columnConditions(operand, columns));
    return {
      conditions: parts.flatMap(({ conditions }) => conditions),
      isComplete: parts.every(({ isComplete }) => isComplete),
    };
  }
  const [operand, second] = Array.isArray($eq) ? [$eq[0], [$eq[1]]] : Array.isArray($in) ? $in : [];
  const name = (Object(operand) as Record<string, unknown>).$getField;
  const column = columns.find((candidate) => candidate === name);
  const values = (Array.isArray(second) ? second : []).map(
    (value) => (Object(value) as Record<string, unknown>).$literal,
  );
  const areStrings = values.length > 0 && values.every((value): value is string => typeof value === 'string');
  if (column === undefined || !areStrings || values.length > 500) return { conditions: [], isComplete: false };
  return { conditions: [{ column, values: values as string[] }], isComplete: true };
}
