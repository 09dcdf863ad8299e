import * as z from 'zod';
import type { HeddleError } from '../core/errors.ts';

/** Result member with the error of one entry of many; it is written as `toJSON` returns it. */
export const errorMember = z.custom<HeddleError>().meta({ type: 'object' });
