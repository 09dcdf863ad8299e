import { type Node, Parser } from 'commonmark';
import { type ComponentChild, type ComponentChildren, h } from 'preact';
import { scrollable } from '../shared/labels.ts';
import { visibleText } from '../shared/visible-text.ts';

/**
 * Private characters of Unicode that stand in for the characters that begin links, pictures, HTML and character references.
 * The parser does not know them, so all of these stay text.
 */
const standIns = new Map([
  ['[', '\u{f8e0}'],
  ['<', '\u{f8e1}'],
  ['&', '\u{f8e2}'],
]);
const originals = new Map([...standIns].map(([character, standIn]) => [standIn, character]));
const anyStandIn = /[\u{f8e0}-\u{f8e2}]/u;

/** A line with this many marks of lists and quotes makes a tree that is too deep to draw. */
const deepLine = /^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t])){20}/m;
/** Maximum nesting; deeper parts are drawn as text. */
const maxDepth = 40;

const parser = new Parser();

const link = /(!?)\[([^[\]\n]*)\]\(([^()\s]*)\)/g;

/**
 * Draws a text as Markdown: paragraphs, headings, lists, quotes, tables, code and emphasis. Links become text, HTML stays as
 * it is written, and nothing is loaded.
 * @returns undefined for a text without any of these, which is best drawn as it is.
 */
export function markdownView(text: string): ComponentChild[] | undefined {
  if (anyStandIn.test(text) || deepLine.test(text)) return undefined;
  const source = text.replaceAll(/[[<&]/g, (character) => standIns.get(character)!);
  const document = parser.parse(source);
  const lines = source.split(/\r\n|\n|\r/);
  const blocks = childrenOf(document);
  const isPlain = blocks.every((block) => isPlainParagraph(block) && !tableOf(block, lines)) && !hasLink(text);
  return isPlain ? undefined : drawBlocks(document, lines, 0);
}

function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  for (let child = node.firstChild; child; child = child.next) children.push(child);
  return children;
}

function isPlainParagraph(block: Node): boolean {
  return block.type === 'paragraph' && childrenOf(block).every(({ type }) => type === 'text' || type === 'softbreak');
}

function hasLink(text: string): boolean {
  return text.search(link) >= 0;
}

function drawBlocks(parent: Node, lines: readonly string[], depth: number): ComponentChild[] {
  return childrenOf(parent).map((block) => drawBlock(block, lines, depth + 1));
}

function drawBlock(block: Node, lines: readonly string[], depth: number): ComponentChild {
  const { type } = block;
  if (depth > maxDepth) return h('p', {}, visibleText(textOf(block)));
  if (type === 'code_block') return codeBlock(original(block.literal ?? '').replace(/\n$/, ''));
  if (type === 'thematic_break') return h('hr', {});
  if (type === 'paragraph') return tableOf(block, lines) ?? h('p', {}, drawInlines(block, depth));
  // The headings of a recorded text are not headings of the page.
  if (type === 'heading') return h('p', { class: `heading heading-${block.level}` }, drawInlines(block, depth));
  const blocks = drawBlocks(block, lines, depth);
  if (type === 'block_quote') return h('blockquote', {}, blocks);
  if (type === 'item') return h('li', {}, blocks);
  return block.listType === 'ordered' ? h('ol', { start: block.listStart }, blocks) : h('ul', {}, blocks);
}

/** Draws code as it is written. */
export function codeBlock(code: string): ComponentChild {
  return h('pre', scrollable('code', 'Code'), visibleText(code));
}

function drawInlines(parent: Node, depth: number): ComponentChildren {
  const drawn: ComponentChildren[] = [];
  let text = '';
  const flush = (): void => {
    if (text !== '') drawn.push(textWithLinks(original(text)));
    text = '';
  };
  for (const node of childrenOf(parent)) {
    // The parser cuts text at characters that could have begun something.
    if (node.type === 'text') text += node.literal ?? '';
    else if (node.type === 'softbreak' || node.type === 'linebreak') text += '\n';
    else {
      flush();
      drawn.push(drawInline(node, depth + 1));
    }
  }
  flush();
  return drawn;
}

function drawInline(node: Node, depth: number): ComponentChild {
  if (node.type === 'code') return h('code', {}, visibleText(original(node.literal ?? '')));
  if (depth > maxDepth) return h('span', {}, visibleText(textOf(node)));
  return h(node.type === 'strong' ? 'strong' : 'em', {}, drawInlines(node, depth));
}

/** Returns the text below a node, which may be nested deeper than calls can be. */
function textOf(node: Node): string {
  const walker = node.walker();
  let text = '';
  for (let step = walker.next(); step; step = walker.next()) {
    if (step.entering) text += step.node.literal ?? (step.node.type === 'softbreak' ? '\n' : '');
  }
  return original(text);
}

function original(text: string): string {
  return text.replaceAll(/[\u{f8e0}-\u{f8e2}]/gu, (standIn) => originals.get(standIn)!);
}

/** Draws links as their label and address. */
function textWithLinks(text: string): ComponentChildren {
  const drawn: ComponentChildren[] = [];
  let from = 0;
  for (const match of text.matchAll(link)) {
    const [whole, picture, label = '', address = ''] = match;
    drawn.push(visibleText(text.slice(from, match.index)));
    const shown = `${picture ? 'Picture: ' : ''}${label}`;
    const target = h('span', { class: 'address' }, ' (', visibleText(address), ')');
    drawn.push(h('span', { class: 'link' }, visibleText(shown)), label === address ? '' : target);
    from = match.index + whole.length;
  }
  return [...drawn, visibleText(text.slice(from))];
}

/** Draws a paragraph whose second line has dashes for each column of the first as a table. */
function tableOf({ sourcepos }: Node, lines: readonly string[]): ComponentChild | undefined {
  const [[firstLine, firstColumn], [lastLine]] = sourcepos;
  const rows = lines.slice(firstLine - 1, lastLine).map((line) => line.slice(firstColumn - 1));
  const [head = '', dashes = '', ...body] = rows;
  if (!head.includes('|') || !dashes.includes('-')) return undefined;
  const aligned = cellsOf(dashes);
  const names = cellsOf(head);
  if (aligned.length !== names.length || !aligned.every((cell) => /^:?-+:?$/.test(cell))) return undefined;
  const row = (cells: readonly string[], tag: 'th' | 'td'): ComponentChild =>
    h(
      'tr',
      {},
      // Missing cells stay missing: their number would be a product of rows and columns.
      cells.slice(0, aligned.length).map((cell) => h(tag, { scope: tag === 'th' ? 'col' : undefined }, drawCell(cell))),
    );
  const table = h(
    'table',
    {},
    h('thead', {}, row(names, 'th')),
    h(
      'tbody',
      {},
      body.map((line) => row(cellsOf(line), 'td')),
    ),
  );
  return h('div', scrollable('scrolled', 'Table'), table);
}

/** Splits a line of a table at bars that no backslash precedes. */
function cellsOf(line: string): string[] {
  const cells = line.trim().split(/(?<!\\)\|/);
  if (cells[0] === '') cells.shift();
  if (cells.at(-1) === '') cells.pop();
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function drawCell(text: string): ComponentChildren {
  const { firstChild } = parser.parse(text);
  return firstChild?.type === 'paragraph' ? drawInlines(firstChild, maxDepth - 4) : visibleText(original(text));
}
