import { type Schema, Validator } from '@cfworker/json-schema';

/**
 * Returns whether a value fits a JSON Schema. A schema that cannot be used fits nothing. Patterns are not checked: the
 * schema comes from outside, and a regular expression can take forever.
 */
export function fitsSchema(schema: unknown, value: unknown): boolean {
  const isPattern = (key: string): boolean => key === 'pattern' || key === 'patternProperties';
  try {
    const checked = JSON.parse(JSON.stringify(schema, (key, member) => (isPattern(key) ? undefined : member)));
    return new Validator(checked as Schema | boolean).validate(value).valid;
  } catch {
    return false;
  }
}
