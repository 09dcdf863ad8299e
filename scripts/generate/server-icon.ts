import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../../assets/icon-32.png', import.meta.url));

/** Returns the icon of the server for clients. It has no address that everybody can reach, so the image itself is in it. */
export function serverIcon(): object {
  const src = `data:image/png;base64,${readFileSync(file, 'base64')}`;
  return { src, mimeType: 'image/png', sizes: ['32x32'] };
}
