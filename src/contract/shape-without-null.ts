import * as z from 'zod';

type WithoutNull<T extends z.ZodType> =
  T extends z.ZodOptional<infer Inner>
    ? z.ZodOptional<WithoutNull<Inner & z.ZodType>>
    : T extends z.ZodNullable<infer Inner>
      ? Inner & z.ZodType
      : T;

/** Removes null from a schema and keeps its description. */
function withoutNull<T extends z.ZodType>(schema: T): WithoutNull<T> {
  const { description } = schema;
  let inner: z.ZodType = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable) inner = inner.unwrap() as z.ZodType;
  const member: z.ZodType = schema.isOptional() ? inner.optional() : inner;
  return (description === undefined ? member : member.describe(description)) as WithoutNull<T>;
}

/**
 * Removes null from the members of a request schema, because a union with null confuses some models. `parseArguments`
 * still accepts null for an optional argument.
 */
export function shapeWithoutNull<Shape extends Record<string, z.ZodType>>(
  shape: Shape,
): { [Name in keyof Shape]: WithoutNull<Shape[Name]> } {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, withoutNull(schema)])) as {
    [Name in keyof Shape]: WithoutNull<Shape[Name]>;
  };
}
