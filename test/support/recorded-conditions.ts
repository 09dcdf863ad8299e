// biome-ignore lint/suspicious/noExplicitAny: conditions and rows of every shape
type Json = any;

/** Evaluates a `$expr` condition on a row as the public service does, independently of the embedded service. */
export function fulfills(condition: Json, row: Json): boolean {
  const [[operator, operands] = []] = Object.entries(condition) as [string, Json][];
  if (operator === '$and') return operands.every((operand: Json) => fulfills(operand, row));
  if (operator === '$or') return operands.some((operand: Json) => fulfills(operand, row));
  if (operator === '$not') return !fulfills(operands[0], row);
  if (operator === '$contains') {
    const { input, substr, case_insensitive } = operands;
    const [text, part] = [textOf(operandOf(input, row)), String(operandOf(substr, row))];
    return case_insensitive ? text.toLowerCase().includes(part.toLowerCase()) : text.includes(part);
  }
  const left = operandOf(operands[0], row);
  if (operator === '$in') return operands[1].some((operand: Json) => operandOf(operand, row) === left);
  const right = operandOf(operands[1], row);
  if (operator === '$eq') return left === right;
  if (operator === '$gte') return numberOf(left) >= numberOf(right);
  if (operator === '$gt') return numberOf(left) > numberOf(right);
  throw new Error(`The recorded service does not know the condition ${operator}`);
}

function operandOf(operand: Json, row: Json): Json {
  return '$literal' in operand ? operand.$literal : memberAt(row, operand.$getField);
}

/** Returns the value at a dotted path, null where there is none. */
export function memberAt(value: Json, path: string): Json {
  return path.split('.').reduce((member, name) => member?.[name], value) ?? null;
}

/** Values are stored as JSON in ASCII. */
function textOf(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Times are compared with seconds. */
function numberOf(value: Json): number {
  return typeof value === 'number' ? value : Date.parse(/Z$/.test(value) ? value : `${value}Z`) / 1000;
}

/** Returns whether a value fits a JSON Schema of the kinds that fields have. */
export function fitsField({ type, enum: choices, minimum, maximum }: Json, value: Json): boolean {
  const fitsType = type === 'integer' ? Number.isInteger(value) : type === undefined || typeof value === type;
  const fitsBounds = !(value < minimum) && !(value > maximum);
  return fitsType && fitsBounds && (choices === undefined || choices.includes(value));
}

/** Sorts rows by keys, the most important first; rows that are equal keep their order. */
export function sortedBy<Row>(rows: readonly Row[], keys: { field: string; direction: string }[] | null = []): Row[] {
  return [...rows].sort((a, b) => {
    for (const { field, direction } of keys ?? []) {
      const [left, right] = [memberAt(a, field), memberAt(b, field)];
      if (left !== right) return left < right === (direction === 'asc') ? -1 : 1;
    }
    return 0;
  });
}

/** Returns a page of rows; null stands for no limit. */
export function pageOf<Row>(rows: readonly Row[], { limit, offset }: { limit?: number; offset?: number }): Row[] {
  return rows.slice(offset ?? 0, (offset ?? 0) + (limit ?? Number.POSITIVE_INFINITY));
}
