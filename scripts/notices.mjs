import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const line = '-'.repeat(80);

/**
 * Returns the licence notices of every package with code in one of the bundles, sorted by name. Packages with the same
 * notice share it.
 */
export function noticesOf(metafiles, root) {
  const folders = new Set();
  for (const output of metafiles.flatMap(({ outputs }) => Object.values(outputs))) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
      if (folder && bytesInOutput > 0) folders.add(folder);
    }
  }
  const packagesByNotice = new Map();
  for (const { title, notice } of [...folders].map((folder) => noticeOf(join(root, folder))).sort(byTitle)) {
    packagesByNotice.set(notice, new Set([...(packagesByNotice.get(notice) ?? []), title]));
  }
  const notices = [...packagesByNotice].map(([notice, titles]) => `${line}\n${[...titles].join('\n')}\n\n${notice}\n`);
  return `heddle contains code of the packages below, under the licence that stands with each.\n\n${notices.join('\n')}`;
}

function noticeOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const by = typeof author === 'string' ? author : author?.name;
  const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `${license}${by ? `, ${by}` : ''}`;
  return { title: `${name} ${version} (${license})`, notice: text.replaceAll('\r\n', '\n') };
}

function byTitle(a, b) {
  return a.title < b.title ? -1 : 1;
}
