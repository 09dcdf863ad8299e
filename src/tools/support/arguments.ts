import { closest, distance } from 'fastest-levenshtein';
import type * as z from 'zod';
import { errorDetails } from '../../contract/validation-errors.ts';
import { type ErrorDetail, HeddleError } from '../../core/errors.ts';
import { isDeeperThan, maxNesting } from '../../core/json-depth.ts';

/** Faults that an error tells one by one, and characters of an unknown name in it. */
const maxFaults = 20;
const maxNameChars = 100;

/** The parts of a JSON Schema that arguments are read by. */
export interface JsonSchema {
  [keyword: string]: unknown;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

/**
 * Checks what a client sent as a tool's arguments. A null member counts as absent where the schema names the member.
 * @throws HeddleError `invalid_arguments` with a `detail` for every fault; an unknown name comes with the nearest known.
 */
export function parseArguments<Input>(
  schema: z.ZodType<Input>,
  args: unknown,
  tool: { name: string; inputJsonSchema: JsonSchema },
): Input {
  const refuse = (detail: ErrorDetail[], count = detail.length): HeddleError => {
    const faults = detail.slice(0, 5).map(({ loc, msg }) => `${loc.slice(1).join('.') || 'arguments'}: ${msg}`);
    const further = count > faults.length ? ` and ${count - faults.length} more` : '';
    return new HeddleError({
      code: 'invalid_arguments',
      message: `The arguments of ${tool.name} are not valid: ${faults.join('; ')}${further}.`,
      hint: 'Nothing was sent. Correct the arguments and call again.',
      detail,
    });
  };
  if (isDeeperThan(args, maxNesting)) {
    throw refuse([{ loc: ['arguments'], msg: `Nested deeper than ${maxNesting} levels`, type: 'value_error' }]);
  }
  const checked = schema.safeParse(dropNulls(args ?? {}, tool.inputJsonSchema));
  if (checked.success) return checked.data;
  const all = errorDetails(checked.error, 'arguments');
  const detail = all.slice(0, maxFaults).map((entry) => {
    const loc = entry.loc.map((part) => (typeof part === 'string' ? shortened(part) : part));
    return entry.type === 'extra_forbidden'
      ? withNearestName({ ...entry, loc }, tool.inputJsonSchema)
      : { ...entry, loc };
  });
  throw refuse(detail, all.length);
}

function shortened(name: string): string {
  return name.length <= maxNameChars ? name : `${name.slice(0, maxNameChars).toWellFormed()}…`;
}

function dropNulls(value: unknown, schema: JsonSchema | undefined): unknown {
  if (Array.isArray(value)) return schema?.items ? value.map((entry) => dropNulls(entry, schema.items)) : value;
  if (typeof value !== 'object' || value === null || !schema?.properties) return value;
  const { properties } = schema;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => member !== null || !Object.hasOwn(properties, name))
      .map(([name, member]) => [
        name,
        dropNulls(member, Object.hasOwn(properties, name) ? properties[name] : undefined),
      ]),
  );
}

function withNearestName(entry: ErrorDetail, schema: JsonSchema): ErrorDetail {
  const path = entry.loc.slice(1, -1);
  const unknown = String(entry.loc.at(-1));
  const parent = path.reduce<JsonSchema | undefined>(
    (at, part) => (typeof part === 'number' ? at?.items : ownMember(at?.properties, part)),
    schema,
  );
  const known = Object.keys(parent?.properties ?? {});
  if (known.length === 0) return entry;
  const nearest = closest(unknown, known);
  const near = distance(unknown, nearest) <= Math.max(2, nearest.length / 3);
  const msg = near ? `Unknown member, did you mean ${nearest}?` : `Unknown member; known are ${known.join(', ')}`;
  return { ...entry, msg };
}

function ownMember(members: Record<string, JsonSchema> = {}, name: string): JsonSchema | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
