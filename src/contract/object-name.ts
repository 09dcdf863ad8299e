import * as z from 'zod';
import { objectIdOf, objectNamePattern } from './references.ts';

/** The name of an object to store. */
export const objectName = z
  .string()
  .min(1)
  .refine(
    (name) => objectNamePattern.test(objectIdOf(name)),
    'must be 1 to 128 letters, digits, spaces or _ . - / after < and > are removed',
  );
