import * as z from 'zod';
import type { ErrorDetail } from '../core/errors.ts';

/** One faulty place of an input (interface part 7). The public service also sends integers in `loc`, for array positions. */
export const errorDetail = z.looseObject({
  loc: z.array(z.union([z.string(), z.number()])).describe('Where the faulty input is, outermost part first.'),
  msg: z.string().describe('What is wrong with it.'),
  type: z.string().describe('A short name of the kind of fault.'),
});

/** The validation error body of the interface (part 7). */
export const validationErrorBody = z.looseObject({ detail: z.array(errorDetail) });

/**
 * Turns zod's issues into the interface's error details (part 7), so that local and remote validation read alike.
 * `root` comes first in each `loc`, as the service does it with `body`, `path` and `query`.
 */
export function errorDetails(error: z.ZodError, root: string): ErrorDetail[] {
  return error.issues.flatMap((issue): ErrorDetail[] => {
    const loc = [root, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => ({ loc: [...loc, key], msg: 'Unknown member', type: 'extra_forbidden' }));
      case 'invalid_type':
        // zod tells absence only in the message: the input itself is not kept on the issue.
        return issue.message.endsWith('received undefined')
          ? [{ loc, msg: 'Required member is missing', type: 'missing' }]
          : [{ loc, msg: issue.message, type: `${issue.expected}_type` }];
      default:
        return [{ loc, msg: issue.message, type: faultTypes[issue.code] ?? 'value_error' }];
    }
  });
}

const faultTypes: Record<string, string> = {
  invalid_value: 'enum',
  invalid_format: 'string_pattern_mismatch',
  too_small: 'greater_than_equal',
  too_big: 'less_than_equal',
};
