import { type ComponentChild, h } from 'preact';

/**
 * Characters that a reader does not see, in which text can hide or alter its surroundings, except tabs, line ends and the
 * variation selector of emoji. A run of the same character is one match.
 */
const invisible = /((?![\t\n\r])(?:[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{2800}]|(?!\u{fe0f}(?!\p{DI}))\p{DI}))\1*/gu;

/** Marks in one text; more would slow the page down. */
const maxMarks = 500;

/** Returns text with its invisible characters as marks like `U+202E`. */
export function visibleText(text: string): ComponentChild[] {
  const parts: ComponentChild[] = [];
  let from = 0;
  let marks = 0;
  for (const match of text.matchAll(invisible)) {
    const [run, character = ''] = match;
    const count = run.length / character.length;
    marks += 1;
    parts.push(text.slice(from, match.index));
    if (marks <= maxMarks) {
      const code = `U+${codeOf(character).padStart(4, '0')}`;
      parts.push(h('span', { class: 'invisible' }, count === 1 ? code : `${code} ×${count}`));
    }
    from = match.index + run.length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** Returns text on one line with its invisible characters as codes, for labels and messages. */
export function plainText(text: string): string {
  const line = text.replaceAll(/[\t\n\r]+/g, ' ');
  return line.replaceAll(invisible, (_, character: string) => `[U+${codeOf(character)}]`);
}

function codeOf(character: string): string {
  return character.codePointAt(0)!.toString(16).toUpperCase();
}
