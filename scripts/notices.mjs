import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const line = '-'.repeat(80);

/**
 * Returns the licence notices of every package with code in one of the bundles, sorted by name. Packages with the same
 * licence share its text, and each keeps its own lines of copyright.
 */
export function noticesOf(metafiles, root) {
  const folders = new Set();
  for (const output of metafiles.flatMap(({ outputs }) => Object.values(outputs))) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
      if (folder && bytesInOutput > 0) folders.add(folder);
    }
  }
  const groups = new Map();
  for (const { title, copyright, text } of [...folders].map((folder) => noticeOf(join(root, folder))).sort(byTitle)) {
    // Copies of a licence differ in spaces and punctuation, and in whether its name stands above.
    const words = text
      .replace(/^\W*(the )?(mit|isc) licen[cs]e\b.*\n/i, '')
      .replace(/copyright \[yyyy\].*/i, '')
      .replaceAll(/\W+/g, ' ')
      .trim();
    const group = groups.get(words) ?? { text, packages: new Set() };
    groups.set(words, group);
    group.packages.add([title, ...copyright].join('\n'));
  }
  const notices = [...groups.values()].map(
    ({ text, packages }) => `${line}\n${[...packages].join('\n\n')}\n\n${text}\n`,
  );
  return `heddle contains code and data of the packages below, under the licence that stands with each.\n\n${notices.join('\n')}`;
}

function noticeOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const by = typeof author === 'string' ? author : author?.name;
  const notice = file ? readFileSync(join(folder, file), 'utf8').trim() : `${license}${by ? `, ${by}` : ''}`;
  const lines = notice.replaceAll('\r\n', '\n').split('\n');
  return {
    title: `${name} ${version} (${license})`,
    copyright: lines.filter(isCopyright).map((text) => text.trim()),
    text: lines
      .filter((text) => !isCopyright(text))
      .join('\n')
      .trim(),
  };
}

function isCopyright(text) {
  return /^\s*Copyright (\(c\)|©|[A-Z\d])/i.test(text) && !/notice|owner|holder/.test(text);
}

function byTitle(a, b) {
  return a.title < b.title ? -1 : 1;
}
