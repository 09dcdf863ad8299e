import { isJsonObject } from '../../core/json/json-object.ts';
import { memberAt } from '../../core/json/member-at.ts';
import type { AttributeName } from './conventions.ts';
import { SpanFault } from './otlp-error.ts';

/** Parses JSON text; throws a SyntaxError for other text. */
export type ParseJson = (text: string) => unknown;

/** Maximum nesting of values of attributes, so that what is stored can be read. */
const maxValueDepth = 100;
/** Attributes whose names have more parts keep their names. */
const maxNameParts = 16;
/** Once the names before have had so many parts, names stay as they are: nothing else can run while they become paths. */
const maxParts = 100_000;

/** The attributes of a span, an event, a link or a resource. */
export interface Attributes {
  byName: ReadonlyMap<string, unknown>;
  /** The same with the names as paths: `gen_ai.system` is the member `system` of `gen_ai`. */
  nested: Readonly<Record<string, unknown>>;
}

/**
 * Reads attributes in the form of OTLP's JSON encoding. Text that is a list or an object of JSON becomes that: attributes could not
 * have such values for long, so most instrumentations write them as text.
 * @throws SpanFault for what are no attributes.
 */
export function readAttributes(value: unknown, parseJson: ParseJson): Attributes {
  const byName = new Map<string, unknown>();
  for (const [key, attribute] of keyValues(value, 0)) byName.set(key, parsed(attribute, parseJson));
  return { byName, nested: nest(byName) };
}

function keyValues(value: unknown, depth: number): [string, unknown][] {
  return listOf(value, 'attributes').map((entry) => {
    const { key, value: attribute } = messageOf(entry, 'attribute');
    return [stringOf(key, 'key'), readValue(attribute, depth)];
  });
}

/** Returns the value of an `AnyValue`; null if it has none. */
function readValue(value: unknown, depth: number): unknown {
  if (depth > maxValueDepth) throw new SpanFault(`A value is nested deeper than ${maxValueDepth} levels`);
  const { stringValue, boolValue, intValue, doubleValue, ...others } = messageOf(value, 'value');
  const { arrayValue, kvlistValue, bytesValue } = others;
  if (stringValue != null) return stringOf(stringValue, 'stringValue');
  if (boolValue != null) return boolValue === true;
  if (intValue != null) return exactInteger(integerOf(intValue, 'intValue'));
  if (doubleValue != null) return doubleOf(doubleValue);
  if (bytesValue != null) return stringOf(bytesValue, 'bytesValue');
  if (arrayValue != null) {
    const { values } = messageOf(arrayValue, 'arrayValue');
    return listOf(values, 'values').map((entry) => readValue(entry, depth + 1));
  }
  if (kvlistValue == null) return null;
  return Object.fromEntries(keyValues(messageOf(kvlistValue, 'kvlistValue').values, depth + 1));
}

/** JSON has no such numbers; OTLP's JSON encoding has these names for them. */
function doubleOf(value: unknown): unknown {
  const number = Number(value);
  return Number.isFinite(number) ? number : `${number}`;
}

function parsed(value: unknown, parseJson: ParseJson): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return parseJson(value);
  } catch (error) {
    if (error instanceof SyntaxError) return value;
    throw error;
  }
}

type Node = Map<string, unknown>;

function nest(byName: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const root: Node = new Map();
  const partCount = 0;
  for (const [name, value] of byName) {
    const parts = name.split('.', maxNameParts + 1);
    const isPath = partCount <= maxParts && parts.length <= maxNameParts && !hasValueAbove(byName, parts);
    let node = root;
    for (const part of isPath ? parts.slice(0, -1) : []) {
      const next = node.get(part);
      const child: Node = next instanceof Map ? next : new Map();
      node.set(part, child);
      node = child;
    }
    node.set(isPath ? parts.at(-1)! : name, value);
  }
  return toObject(root);
}

/** Returns whether a value stands where a path leads through: next to `a`, `a.b` cannot be a member of it. */
function hasValueAbove(byName: ReadonlyMap<string, unknown>, parts: readonly string[]): boolean {
  let above = '';
  return parts.some((part, index) => {
    above = index === 0 ? part : `${above}.${part}`;
    return index < parts.length - 1 && byName.has(above);
  });
}

function toObject(node: Node): Record<string, unknown> {
  return Object.fromEntries([...node].map(([name, value]) => [name, value instanceof Map ? toObject(value) : value]));
}

/**
 * Returns the first of these attributes that is there: `gen_ai.prompt` is the attribute of that name, or all below it, where
 * members called 0, 1, … are a list.
 */
export function findAttribute(
  { byName, nested }: Attributes,
  names: readonly AttributeName[],
): { name: string; value: unknown } | undefined {
  for (const { name, path } of names) {
    const value = byName.get(name) ?? memberAt(nested, path);
    if (value != null && value !== '') return { name, value: withLists(value) };
  }
  return undefined;
}

/** Replaces objects with the members 0, 1, … by lists. */
function withLists(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, member]) => [name, withLists(member)] as const);
  // Objects have such members in their order.
  const isList = entries.length > 0 && entries.every(([name], index) => name === `${index}`);
  return isList ? entries.map(([, member]) => member) : Object.fromEntries(entries);
}

/** Returns an integer as a number, or as its digits if a number would change it. */
export function exactInteger(value: bigint): number | string {
  const digits = `${value}`;
  return `${Number(value)}` === digits ? Number(value) : digits;
}

/** Reads text of a message; missing text is empty. @throws SpanFault for another value. */
export function stringOf(value: unknown, name: string): string {
  if (value == null) return '';
  if (typeof value !== 'string') throw new SpanFault(`${name} must be text`);
  return value;
}

/** Reads an integer of a message, which JSON has as a number or as its digits; a missing one is 0. */
export function integerOf(value: unknown, name: string): bigint {
  if (value == null) return 0n;
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) return BigInt(value);
  throw new SpanFault(`${name} must be an integer of 64 bits`);
}

/** Reads a list of a message; a missing one is empty. */
export function listOf(value: unknown, name: string): readonly unknown[] {
  if (value == null) return [];
  if (!Array.isArray(value)) throw new SpanFault(`${name} must be a list`);
  return value;
}

/** Reads a message in a message; a missing one has no members. */
export function messageOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (value == null) return {};
  if (!isJsonObject(value)) throw new SpanFault(`${name} must be an object`);
  return value;
}
