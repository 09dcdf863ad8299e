import type * as z from 'zod';
import { errorDetails } from '../../contract/validation.ts';
import { HeddleError } from '../../core/errors.ts';

/**
 * Validates arguments and returns the parsed value.
 * @param consequence starts the message of the error, such as "Nothing was imported".
 * @throws HeddleError `invalid_arguments` with all faults.
 */
export function checkArguments<T>(schema: z.ZodType<T>, value: unknown, consequence: string, hint: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const detail = errorDetails(parsed.error, 'arguments');
  const faults = detail.map(({ loc, msg }) => [...loc.slice(1), msg].join(': '));
  throw new HeddleError({
    code: 'invalid_arguments',
    message: `${consequence}: ${faults.join('; ')}`,
    hint,
    detail,
  });
}
