import * as z from 'zod';

const sampleTime = '2026-01-01T00:00:00Z';

type Schema = z.core.JSONSchema.BaseSchema;

/**
 * Returns a value for a schema, in the form of JSON: its required members, and those optional ones whose names are `known`. A member of
 * such a name gets its value, or a list with it if the member is called by its plural. Only types are looked at, so the schema may
 * still refuse the value.
 */
export function sampleOf(schema: z.ZodType, known: ReadonlyMap<string, unknown> = new Map()): unknown {
  return sampleValue(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), known);
}

function sampleValue(schema: Schema, known: ReadonlyMap<string, unknown>): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice) return sampleValue(choice as Schema, known);
  switch (schema.type) {
    case 'string':
      return 'text';
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return [sampleValue((schema.items ?? {}) as Schema, known)];
    default:
      return Object.fromEntries(membersOf(schema, known));
  }
}

function membersOf({ properties = {}, required = [] }: Schema, known: ReadonlyMap<string, unknown>) {
  return Object.entries(properties).flatMap(([name, member]): [string, unknown][] => {
    if (known.has(name)) return [[name, known.get(name)]];
    const single = name.replace(/s$/, '');
    if (known.has(single)) return [[name, [known.get(single)]]];
    if (!required.includes(name)) return [];
    return [[name, name.endsWith('_at') ? sampleTime : sampleValue(member as Schema, known)]];
  });
}
