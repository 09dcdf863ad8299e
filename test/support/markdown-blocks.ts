import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');

/** README.md and the pages of docs/, by their paths in the repository. */
export const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
);

/** A fenced block of a page. `info` is the text after the fence: the language and the kind of test. */
export interface Block {
  info: string;
  text: string;
  line: number;
}

/** Returns the text of a page. */
export function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

/** Returns the fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const [index, line] of textOf(page).split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (!fence) {
      if (open) open.text += `${line}\n`;
    } else if (open) {
      blocks.push(open);
      open = undefined;
    } else {
      open = { info: fence[1]!.trim(), text: '', line: index + 1 };
    }
  }
  return blocks;
}

/** Returns the inline code of a page, without its fenced blocks. */
export function inlineCode(page: string): string[] {
  const prose = textOf(page).replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
}
