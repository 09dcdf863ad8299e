import { distance } from 'fastest-levenshtein';
import { cutValue } from './call-values.ts';

/** Characters of a name that count; a comparison takes as long as the product of two lengths. */
const maxNameChars = 100;

/** Returns how far two names are apart, in changed characters. */
export function nameDistance(a: string, b: string): number {
  return distance(a.slice(0, maxNameChars), b.slice(0, maxNameChars));
}

/** Returns a name in the form that messages have it: cut if it is long. */
export function shortName(name: string): string {
  return String(cutValue(name, maxNameChars));
}
