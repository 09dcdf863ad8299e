import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toolGroups } from '../../src/tools/definition/tool.ts';

const assets = new URL('../../assets/', import.meta.url);

/**
 * Returns the icons that clients show: that of the server, and one for the tools of each group. They have no address that everybody
 * can reach, so the images themselves are in them.
 */
export function icons(): object {
  const ofTools = toolGroups.map((group) => [group, icon(`tool-${group}.svg`, 'image/svg+xml', 'any')]);
  return { server: icon('icon-32.png', 'image/png', '32x32'), ...Object.fromEntries(ofTools) };
}

function icon(file: string, mimeType: string, size: string): object {
  const image = readFileSync(fileURLToPath(new URL(file, assets)), 'base64');
  return { src: `data:${mimeType};base64,${image}`, mimeType, sizes: [size] };
}
