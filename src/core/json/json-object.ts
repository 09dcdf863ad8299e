import { ExactNumber } from './exact-number.ts';

/** The members of a JSON object, whose values can be anything. */
export type Members = Record<string, unknown>;

/** Returns whether a JSON value is an object, which is neither a list nor null. */
export function isJsonObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

/** Returns a JSON value if it is an object, otherwise an empty object. */
export function objectOrEmpty(value: unknown): Members {
  return isJsonObject(value) ? value : {};
}
