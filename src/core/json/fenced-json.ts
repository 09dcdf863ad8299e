import { undefinedOnError } from '../errors.ts';
import { parseJsonText } from './parse-json.ts';

/** Parses JSON that may stand in a block of Markdown, as many models reply; undefined for text that is not JSON or beyond its limits. */
export function parseFencedJson(text: string): { value: unknown } | undefined {
  let json = text.trim();
  if (json.startsWith('```') && json.endsWith('```') && json.length > 6) {
    json = json.slice(json.indexOf('\n') + 1, -3);
  }
  return undefinedOnError(() => ({ value: parseJsonText(json) }));
}
