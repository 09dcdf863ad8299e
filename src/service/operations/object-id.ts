import { objectIdOf, objectNamePattern } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';

/**
 * Returns the object id of a name.
 * @throws Refusal 422 for a name that has no valid one.
 */
export function requireObjectId(name: string): string {
  const id = objectIdOf(name);
  if (objectNamePattern.test(id)) return id;
  const msg = 'must be 1 to 128 letters, digits, spaces or _ . - / after < and > are removed';
  throw new Refusal(422, msg, { body: { detail: [{ loc: ['body', 'name'], msg, type: 'value_error' }] } });
}
