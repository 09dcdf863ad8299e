import { inferencePath, pathSegment } from '../contract/identifiers.ts';
import { HeddleError } from '../core/errors.ts';

/**
 * Fills an endpoint's path template: `{name}` takes one checked and encoded segment, `{name*}` the rest of the path
 * with its leading slash. The result cannot leave the template's prefix.
 * @throws HeddleError `invalid_arguments` when a value is no such segment or path.
 */
export function fillPath(template: string, values: Record<string, string>): string {
  return template.replace(/\{(\w+)(\*?)\}/g, (_, name: string, rest: string) => {
    const value = values[name] ?? '';
    const checked = (rest ? inferencePath : pathSegment).safeParse(value);
    if (!checked.success) {
      throw new HeddleError({
        code: 'invalid_arguments',
        message: `${name} ${checked.error.issues[0]?.message ?? 'is not usable in a path'}.`,
        hint: `Correct ${name} and call again.`,
        detail: checked.error.issues.map((issue) => ({ loc: ['path', name], msg: issue.message, type: 'path' })),
      });
    }
    return rest ? value : encodeURIComponent(value);
  });
}
