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

const faultTypes: Record<string, string> = {
  invalid_value: 'enum',
  invalid_format: 'string_pattern_mismatch',
  too_small: 'greater_than_equal',
  too_big: 'less_than_equal',
};
