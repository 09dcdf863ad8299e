import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the licence notices of every package with code in one of the bundles, sorted by name. */
export function noticesOf(metafiles, root) {
  const packages = new Map();
  for (const output of metafiles.flatMap(({ outputs }) => Object.values(outputs))) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
      if (folder && bytesInOutput > 0) packages.set(folder, noticeOf(join(root, folder)));
    }
  }
  const notices = [...new Set(packages.values())].sort();
  return `heddle contains code of the packages below, under the licence that stands with each.\n\n${notices.join('\n')}`;
}

function noticeOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const by = typeof author === 'string' ? author : author?.name;
  const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `${license}${by ? `, ${by}` : ''}`;
  return `${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text.replaceAll('\r\n', '\n')}\n`;
}
