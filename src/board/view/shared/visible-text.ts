import { type ComponentChild, h } from 'preact';

/** Letters of scripts that are written without joiners, where a joiner can only hide. */
const unjoined = '\\p{sc=Latin}\\p{sc=Greek}\\p{sc=Cyrillic}\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}';

/** A joiner that belongs to the text: between letters of scripts that join, or inside an emoji. */
const joiner = [
  `(?<=[[\\p{L}\\p{M}]--[${unjoined}]])[\\u{200c}\\u{200d}](?=[[\\p{L}\\p{M}]--[${unjoined}]])`,
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\u{fe0f}])\\u{200d}(?=\\p{Extended_Pictographic})',
].join('|');

/**
 * Characters that a reader does not see, in which text can hide or alter its surroundings, except tabs, line ends, the
 * variation selector of emoji and joiners that belong to the text. A run of the same character is one match.
 */
const invisible = new RegExp(
  `((?![\\t\\n\\r])(?!${joiner})(?:[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\u{2800}]|(?!\\u{fe0f}(?!\\p{DI}))\\p{DI}))\\1*`,
  'gv',
);

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
