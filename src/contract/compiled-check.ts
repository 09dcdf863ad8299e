import type * as z from 'zod';
import { isJsonObject } from '../core/json/json-object.ts';

/**
 * Checks a value. Returns how many values it may still look at, of `left`; a negative number if the value does not fit or has too
 * many.
 */
type Check = (value: unknown, left: number) => number;

const misfit = -1;
const checks = new WeakMap<z.core.$ZodType, Check>();

/**
 * Returns whether a value of JSON surely fits a schema, which looks at no more than `maxValues` values in it. Allocates nothing,
 * where zod copies the value; only zod says what is wrong with one that does not fit. Also returns false for a schema that is made
 * of anything but plain types, lists and objects with further members.
 */
export function surelyFits(schema: z.core.$ZodType, value: unknown, maxValues: number): boolean {
  return checkOf(schema)(value, maxValues) >= 0;
}

function checkOf(schema: z.core.$ZodType): Check {
  const check = checks.get(schema) ?? compile(schema as z.core.$ZodTypes);
  checks.set(schema, check);
  return check;
}

function compile({ _zod: { def } }: z.core.$ZodTypes): Check {
  if (def.type === 'number' && isSafeInteger(def)) return leaf(Number.isSafeInteger);
  // A format, a pattern or a limit.
  if (def.checks?.length || 'format' in def) return () => misfit;
  switch (def.type) {
    case 'unknown':
      // A member may have any value, but it must be there.
      return (value, left) => (value === undefined ? misfit : left);
    case 'string':
    case 'boolean':
      return leaf((value) => typeof value === def.type);
    case 'number':
      return leaf(Number.isFinite);
    case 'nullable':
    case 'optional': {
      const inner = checkOf(def.innerType);
      const empty = def.type === 'nullable' ? null : undefined;
      return (value, left) => (value === empty ? left - 1 : inner(value, left));
    }
    case 'array':
      return checkOfList(checkOf(def.element));
    case 'record':
      return isOfType(def.keyType, 'string') ? checkOfRecord(checkOf(def.valueType)) : () => misfit;
    case 'object':
      return isOfType(def.catchall, 'unknown') ? checkOfObject(def.shape) : () => misfit;
    default:
      return () => misfit;
  }
}

/** Returns whether a schema is `z.int()`, without further checks. */
function isSafeInteger(def: z.core.$ZodNumberDef): boolean {
  return 'format' in def && def.format === 'safeint' && !def.checks?.length;
}

/** Returns whether a schema is one of a type without checks. */
function isOfType(schema: z.core.$ZodType | undefined, type: 'string' | 'unknown'): boolean {
  const def = (schema as z.core.$ZodTypes | undefined)?._zod.def;
  return def?.type === type && !def.checks?.length;
}

function leaf(fits: (value: unknown) => boolean): Check {
  return (value, left) => (fits(value) ? left - 1 : misfit);
}

function checkOfList(element: Check): Check {
  return (value, left) => {
    if (!Array.isArray(value)) return misfit;
    let rest = left - 1;
    for (let index = 0; index < value.length && rest >= 0; index += 1) rest = element(value[index], rest);
    return rest;
  };
}

function checkOfRecord(member: Check): Check {
  return (value, left) => {
    if (!isJsonObject(value)) return misfit;
    let rest = left - 1;
    for (const inner of Object.values(value)) {
      rest = member(inner, rest);
      if (rest < 0) break;
    }
    return rest;
  };
}

function checkOfObject(shape: z.core.$ZodShape): Check {
  const members = Object.entries(shape).map(([name, schema]) => ({ name, check: checkOf(schema) }));
  return (value, left) => {
    if (!isJsonObject(value)) return misfit;
    let rest = left - 1;
    for (const { name, check } of members) {
      rest = check(value[name], rest);
      if (rest < 0) break;
    }
    return rest;
  };
}
