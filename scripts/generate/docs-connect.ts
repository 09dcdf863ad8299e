import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { installLinks } from './plugins.ts';

const linksLine = /^\[Add to Cursor\].*$/m;

/** Returns docs/connect.md with the links that add heddle to clients; everything else in it is written by hand. */
export function docsConnect(): string {
  const text = readFileSync(fileURLToPath(new URL('../../docs/connect.md', import.meta.url)), 'utf8');
  if (!linksLine.test(text)) throw new Error('docs/connect.md must contain a line that begins with [Add to Cursor]');
  return text.replace(linksLine, () => installLinks());
}
