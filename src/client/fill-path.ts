import { inferencePath, pathSegment } from '../contract/identifiers.ts';
import { HeddleError } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';

/**
 * Fills the path template of an endpoint: `{name}` with one checked and encoded segment, `{name*}` with the rest of the
 * path, including its leading slash. The result cannot leave the prefix of the template.
 * @throws HeddleError `invalid_arguments` for a value that is not such a segment or path.
 */
export function fillPath(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)(\*?)\}/g, (_, name: string, rest: string) => {
    const value = ownMember(values, name) ?? '';
    const { error } = (rest ? inferencePath : pathSegment).safeParse(value);
    if (!error) return rest ? value : encodeURIComponent(value);
    throw new HeddleError({
      code: 'invalid_arguments',
      message: `${name} ${error.issues[0]!.message}.`,
      hint: `Correct ${name} and call again.`,
      detail: error.issues.map(({ message }) => ({ loc: ['path', name], msg: message, type: 'path' })),
    });
  });
}
