import * as z from 'zod';
import type { ErrorDetail } from '../core/errors.ts';

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
        return [{ loc, msg: issue.message, type: faultTypes[issue.code] ?? 'value_error' }];
    }
  });
}

/** Maximum number of values that schemas look at one by one: a fault costs far more memory than the value. */
const maxCheckedValues = 200_000;

/**
 * Validates a value that comes from outside.
 * @returns the parsed value, or its faults as {@link errorDetails} lists them.
 */
export function validateValue<T>(
  schema: z.ZodType<T>,
  value: unknown,
  root: string,
): { data: T; faults?: never } | { data?: never; faults: ErrorDetail[] } {
  if (countChecked(schema, value, maxCheckedValues) > maxCheckedValues) {
    return { faults: [{ loc: [root], msg: `More than ${maxCheckedValues} values`, type: 'too_long' }] };
  }
  const parsed = schema.safeParse(value);
  return parsed.success ? { data: parsed.data } : { faults: errorDetails(parsed.error, root) };
}

/** Counts the values that a schema looks at, until there are more than `max`. Free-form values count as one. */
function countChecked(schema: z.core.$ZodType, value: unknown, max: number): number {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if ('innerType' in def) return countChecked(def.innerType, value, max);
  if (def.type === 'pipe') return countChecked(def.in, value, max);
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  const add = (part: z.core.$ZodType, member: unknown): boolean => {
    if ((part as z.core.$ZodTypes)._zod.def.type !== 'unknown') count += countChecked(part, member, max - count);
    return count <= max;
  };
  const members = value as Record<string, unknown>;
  if (def.type === 'union') def.options.every((option) => add(option, value));
  else if (def.type === 'array') Array.isArray(value) && value.every((entry) => add(def.element, entry));
  else if (def.type === 'record') Object.values(members).every((member) => add(def.valueType, member));
  else if (def.type === 'object')
    Object.entries(def.shape).every(([name, part]) => add(part as z.core.$ZodType, members[name]));
  return count;
}

const faultTypes: Record<string, string> = {
  invalid_value: 'enum',
  invalid_format: 'string_pattern_mismatch',
  too_small: 'greater_than_equal',
  too_big: 'less_than_equal',
};
