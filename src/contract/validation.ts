import * as z from 'zod';
import type { ErrorDetail } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { surelyFits } from './compiled-check.ts';

/** One fault of an input. The public service also sends integers in `loc`, for array positions. */
export const errorDetail = z.looseObject({
  loc: z.array(z.union([z.string(), z.number()])).describe('Location of the faulty input, outermost part first.'),
  msg: z.string().describe('Description of the fault.'),
  type: z.string().describe('Kind of the fault.'),
});

/** The body of a response to invalid input. */
export const validationErrorBody = z.looseObject({ detail: z.array(errorDetail) });

/**
 * Converts zod's issues into error details, so that local and remote validation read alike. `root` becomes the first
 * part of each `loc`, like `body`, `path` and `query` at the service.
 */
export function errorDetails(error: z.ZodError, root: string): ErrorDetail[] {
  return error.issues.flatMap((issue): ErrorDetail[] => {
    const loc = [root, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => ({ loc: [...loc, key], msg: 'Unknown member', type: 'extra_forbidden' }));
      case 'invalid_type':
        // Only zod's message distinguishes a missing member from one of another type.
        return issue.message.endsWith('received undefined')
          ? [{ loc, msg: 'Required member is missing', type: 'missing' }]
          : [{ loc, msg: issue.message, type: `${issue.expected}_type` }];
      default:
        return [{ loc, msg: issueWords(issue), type: faultTypes[issue.code] ?? 'value_error' }];
    }
  });
}

/** The units of the sizes of texts and lists; other limits have none. */
const sizeUnits = new Map([
  ['string', 'characters'],
  ['array', 'entries'],
]);

/** Returns what a value must be, such as "Must be at most 64" or "Must not be empty", and zod's message where that is not a limit or a choice. */
export function issueWords(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') {
    const values = issue.values.map((value) => JSON.stringify(value));
    return `Must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
  }
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return issue.message;
  const isSmall = issue.code === 'too_small';
  const limit = isSmall ? issue.minimum : issue.maximum;
  const unit = sizeUnits.get(issue.origin);
  if (unit === undefined) {
    const words = isSmall ? ['at least', 'more than'] : ['at most', 'less than'];
    return `Must be ${words.at(issue.inclusive === false ? 1 : 0)} ${limit}`;
  }
  if (isSmall && limit === 1) return 'Must not be empty';
  return `Must have ${isSmall ? 'at least' : 'at most'} ${limit} ${unit}`;
}

/** Number of faults after which {@link checkedOneByOne} skips the rest of a list. */
const maxListFaults = 100;

/**
 * Creates the schema of a list of any length. Entries are checked one at a time, and not after 100 faults, so that a large
 * list takes little memory; they keep members that their schema does not know.
 */
export function checkedOneByOne<Entry extends z.ZodType>(entry: Entry): z.ZodType<z.output<Entry>[], z.input<Entry>[]> {
  const list = z.array(z.unknown()).check(({ value, issues }) => {
    for (const [index, input] of value.entries()) {
      const found = entry.safeParse(input).error?.issues ?? [];
      for (const issue of found) issues.push({ ...issue, input, path: [index, ...issue.path] } as z.core.$ZodRawIssue);
      if (issues.length >= maxListFaults) break;
    }
  });
  return list as z.ZodType<unknown> as z.ZodType<z.output<Entry>[], z.input<Entry>[]>;
}

/** Maximum number of values that schemas look at one by one: a fault costs far more memory than the value. */
const maxCheckedValues = 200_000;
/** Maximum number of values in JSON that fits its schema: that makes neither copies nor faults. */
const maxFittingValues = 1_000_000;

/**
 * Validates a value that comes from outside.
 * @returns the parsed value, or its faults as {@link errorDetails} lists them.
 */
export function validateValue<T>(
  schema: z.ZodType<T>,
  value: unknown,
  root: string,
): { data: T; faults?: never } | { data?: never; faults: ErrorDetail[] } {
  if ((counterOf(schema)?.(value, maxCheckedValues) ?? 1) > maxCheckedValues) {
    return { faults: [{ loc: [root], msg: `More than ${maxCheckedValues} values`, type: 'too_long' }] };
  }
  const parsed = schema.safeParse(value);
  return parsed.success ? { data: parsed.data } : { faults: errorDetails(parsed.error, root) };
}

/**
 * Returns the faults of a value of JSON that comes from outside, as {@link validateValue} does; undefined if there are none.
 * The value itself is what has been checked: nothing of it was removed or added.
 */
export function faultsOf(schema: z.ZodType, value: unknown, root: string): ErrorDetail[] | undefined {
  return surelyFits(schema, value, maxFittingValues) ? undefined : validateValue(schema, value, root).faults;
}

/** Returns the number of values that a schema looks at in a value, counted until there are more than `max`. */
type ValueCounter = (value: unknown, max: number) => number;

const counters = new WeakMap<z.core.$ZodType, ValueCounter | undefined>();

/** Returns what counts the values that a schema looks at; undefined for a schema that always looks at one. */
function counterOf(schema: z.core.$ZodType): ValueCounter | undefined {
  if (!counters.has(schema)) counters.set(schema, createCounter(schema));
  return counters.get(schema);
}

function createCounter(schema: z.core.$ZodType): ValueCounter | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if ('innerType' in def) return counterOf(def.innerType);
  if (def.type === 'pipe') return counterOf(def.in);
  if (def.type === 'union') {
    const options = def.options.map(counterOf);
    return (value, max) => countAll(options, (option) => option?.(value, max) ?? 1, max);
  }
  if (def.type === 'array' || def.type === 'record') {
    const part = def.type === 'array' ? def.element : def.valueType;
    if (isFree(part)) return undefined;
    const counter = counterOf(part);
    return (value, max) => {
      if (typeof value !== 'object' || value === null) return 1;
      const members: unknown[] = Array.isArray(value) ? value : Object.values(value);
      return counter ? countAll(members, (member) => counter(member, max), max) : 1 + members.length;
    };
  }
  if (def.type !== 'object') return undefined;
  const parts = Object.entries(def.shape).filter(([, part]) => !isFree(part));
  const nested = parts.flatMap(([name, part]) => {
    const counter = counterOf(part);
    return counter ? [{ name, counter }] : [];
  });
  const single = 1 + parts.length - nested.length;
  return (value, max) => {
    if (typeof value !== 'object' || value === null) return 1;
    return single + countAll(nested, ({ name, counter }) => counter(ownMember(value, name), max), max) - 1;
  };
}

/** Returns whether a schema accepts any value; such values are not looked into. */
function isFree(schema: z.core.$ZodType): boolean {
  const { type, checks } = (schema as z.core.$ZodTypes)._zod.def;
  return type === 'unknown' && !checks?.length;
}

function countAll<Part>(parts: readonly Part[], count: (part: Part) => number, max: number): number {
  let sum = 1;
  for (const part of parts) {
    sum += count(part);
    if (sum > max) break;
  }
  return sum;
}

const faultTypes: Record<string, string> = {
  invalid_value: 'enum',
  invalid_format: 'string_pattern_mismatch',
  too_small: 'greater_than_equal',
  too_big: 'less_than_equal',
};
