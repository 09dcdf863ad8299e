import * as z from 'zod';
import { validateValue } from '../../contract/validation.ts';
import { type ErrorDetail, HeddleError } from '../../core/errors.ts';
import { memberAt, ownMember } from '../../core/json/member-at.ts';
import { isDeeperThan, maxNesting } from '../../core/json/parse-json.ts';
import { meantName, shortName } from '../../text/names.ts';

/** Faults listed in the `detail` of an error, and in its message. */
const maxDetails = 20;
const maxMessageFaults = 5;

/** The keywords of a JSON Schema that this file reads. */
export interface JsonSchema {
  [keyword: string]: unknown;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

/**
 * Parses the arguments of a tool call. A null member counts as absent if the schema names that member.
 * @param redact removes secrets from names of members before they are cut.
 * @param adviceFor returns what the user can do instead, for names and values that nothing is known by.
 * @throws HeddleError `invalid_arguments`; its `detail` has an entry per fault, with the nearest known name for an
 * unknown one.
 */
export function parseArguments<Input>(
  schema: z.ZodType<Input>,
  args: unknown,
  tool: { name: string },
  redact = (text: string): string => text,
  adviceFor: (names: string[]) => string | undefined = () => undefined,
): Input {
  const jsonSchema = jsonSchemaOf(schema);
  if (isDeeperThan(args, maxNesting)) {
    const msg = `Nested deeper than ${maxNesting} levels`;
    throw invalidArguments(tool.name, [{ loc: ['arguments'], msg, type: 'value_error' }]);
  }
  const { data, faults } = validateValue(schema, dropNulls(args ?? {}, jsonSchema), 'arguments');
  if (!faults) return data;
  const shown = faults.slice(0, maxDetails);
  const detail = shown.map((fault) => readableFault(fault, { args, schema: jsonSchema, redact }));
  const advice = adviceFor(shown.flatMap((fault) => strangeName(fault, args, jsonSchema)));
  throw invalidArguments(tool.name, detail, faults.length, advice);
}

/** Returns what a fault is about if it is like nothing known: the name of a member and its value, or a value that is no choice. */
function strangeName({ type, loc }: ErrorDetail, args: unknown, schema: JsonSchema): string[] {
  if (type !== 'extra_forbidden' && type !== 'enum') return [];
  if (type === 'extra_forbidden' && nearestMember(loc, schema).meant !== undefined) return [];
  const value = memberAt(args, loc.slice(1).map(String));
  return [...(type === 'enum' ? [] : [String(loc.at(-1))]), ...(typeof value === 'string' ? [value] : [])];
}

const jsonSchemas = new WeakMap<z.ZodType, JsonSchema>();

/** Returns the whole JSON Schema of arguments; the listed one has only what a model needs. */
function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const known = jsonSchemas.get(schema) ?? (z.toJSONSchema(schema, { io: 'input' }) as JsonSchema);
  jsonSchemas.set(schema, known);
  return known;
}

function invalidArguments(
  toolName: string,
  detail: ErrorDetail[],
  count = detail.length,
  advice = 'Correct the arguments and call again.',
): HeddleError {
  const shown = detail.slice(0, maxMessageFaults);
  const faults = shown.map(({ loc, msg }) => `${loc.slice(1).join('.') || 'arguments'}: ${msg}`).join('; ');
  const further = count > shown.length ? ` and ${count - shown.length} more` : '';
  return new HeddleError({
    code: 'invalid_arguments',
    message: `Invalid arguments for ${toolName}: ${faults}${further}.`,
    hint: `Nothing was sent. ${advice}`,
    detail,
    statedDetails: shown.length,
  });
}

/** Shortens long names in a fault, and suggests a known name for an unknown one. */
function readableFault(
  fault: ErrorDetail,
  { args, schema, redact }: { args: unknown; schema: JsonSchema; redact: (text: string) => string },
): ErrorDetail {
  const loc = fault.loc.map((part) => (typeof part === 'string' ? shortName(redact(part)) : part));
  const meant = fault.type === 'enum' ? nearestChoice(fault.loc, args, schema) : undefined;
  if (meant !== undefined) return { ...fault, loc, msg: `${fault.msg}, did you mean ${meant}?` };
  return fault.type === 'extra_forbidden' ? withNearestName({ ...fault, loc }, schema) : { ...fault, loc };
}

/** Removes null members that the schema names; the rest is left for the schema to judge. */
function dropNulls(value: unknown, schema: JsonSchema | undefined): unknown {
  if (Array.isArray(value)) return schema?.items ? value.map((entry) => dropNulls(entry, schema.items)) : value;
  if (typeof value !== 'object' || value === null || !schema?.properties) return value;
  const { properties } = schema;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => member !== null || !Object.hasOwn(properties, name))
      .map(([name, member]) => [name, dropNulls(member, ownMember(properties, name))]),
  );
}

function withNearestName(entry: ErrorDetail, schema: JsonSchema): ErrorDetail {
  const { known, meant } = nearestMember(entry.loc, schema);
  if (known.length === 0) return entry;
  const msg =
    meant === undefined
      ? `Unknown member; valid members are ${known.join(', ')}`
      : `Unknown member (did you mean ${meant}?)`;
  return { ...entry, msg };
}

/** Returns the choice that a value is likely to mean where it is none of the choices. */
function nearestChoice(loc: ErrorDetail['loc'], args: unknown, schema: JsonSchema): string | undefined {
  const path = loc.slice(1);
  const value = memberAt(args, path.map(String));
  const choices = schemaAt(path, schema)?.enum;
  return typeof value === 'string' && Array.isArray(choices) ? meantName(value, choices.map(String)) : undefined;
}

function schemaAt(path: ErrorDetail['loc'], schema: JsonSchema): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>(
    (at, part) => (typeof part === 'number' ? at?.items : ownMember(at?.properties, part)),
    schema,
  );
}

/** Returns the known members where an unknown one is, and the one that is likely meant. */
function nearestMember(loc: ErrorDetail['loc'], schema: JsonSchema): { known: string[]; meant: string | undefined } {
  const unknown = String(loc.at(-1));
  const parent = schemaAt(loc.slice(1, -1), schema);
  const known = Object.keys(parent?.properties ?? {});
  // `queue` is far from `queue_id` by its letters.
  return { known, meant: known.find((name) => name.startsWith(`${unknown}_`)) ?? meantName(unknown, known) };
}
