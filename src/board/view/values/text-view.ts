import { type ComponentChild, h } from 'preact';
import { button } from '../shared/button.ts';
import { PureComponent } from '../shared/pure-component.ts';
import type { Formats } from '../shared/theme.ts';
import { visibleText } from '../shared/visible-text.ts';
import { codeBlock, markdownView } from './markdown.ts';

/** Of a longer text, only the beginning can be shown. */
export const maxShownChars = 50_000;

/** The choices with which values are drawn. */
export interface ValueStyle {
  formats: Formats;
  /** Characters of a text that show until the person asks for more. */
  foldedChars: number;
  /** True to show text as it is written, without drawing its Markdown. */
  isRaw?: boolean | undefined;
}

/** Draws a text, or the type and size of data in a `data:` address. */
export function textView(text: string, style: ValueStyle): ComponentChild[] {
  const { formats } = style;
  const data = /^data:([\w.+-]{1,60}\/[\w.+-]{1,60})[;,]/.exec(text);
  if (data) return [reference(`${data[1]}, ${formats.number(text.length)} characters`)];
  const shown = h(FoldedText, { text: text.slice(0, maxShownChars), isCode: false, ...style });
  const rest = text.length - maxShownChars;
  return rest <= 0 ? [shown] : [shown, reference(`${formats.number(rest)} further characters are not shown`)];
}

/** Levels of JSON that are indented; with more, the spaces would outgrow the values. */
export const maxDepth = 50;

/** Returns whether lists and objects are nested more than `depth` levels deep. */
export function isNestedDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((member) => isNestedDeeper(member, depth - 1));
}

/** Draws a value as indented JSON. */
export function jsonView(value: unknown, style: ValueStyle): ComponentChild {
  const text = JSON.stringify(value, null, isNestedDeeper(value, maxDepth) ? 0 : 2);
  return h(FoldedText, { text, isCode: true, ...style });
}

/** Draws what stands for a value that is not shown. */
export function reference(text: string): ComponentChild {
  return h('span', { class: 'reference' }, text);
}

interface FoldedProps extends ValueStyle {
  text: string;
  isCode: boolean;
}

/** Text of which only the beginning shows until the person asks for all of it. */
class FoldedText extends PureComponent<FoldedProps, { isOpen: boolean }> {
  override state = { isOpen: false };

  override render(props: FoldedProps, { isOpen }: { isOpen: boolean }): ComponentChild {
    const { text, formats, foldedChars } = props;
    // A button that uncovers a few words would cost more than it saves.
    if (text.length <= foldedChars * 1.3) return blockOf(text, props);
    const shown = isOpen ? text.slice(0, maxShownChars) : `${beginningOf(text, foldedChars)} …`;
    const label = isOpen ? 'Show less' : `Show all ${formats.number(text.length)} characters`;
    const toggle = (): void => this.setState({ isOpen: !isOpen });
    return h('div', {}, blockOf(shown, props), button(label, toggle, { class: 'quiet', 'aria-expanded': isOpen }));
  }
}

/** Returns the beginning of a text, up to the end of a line or word where one is near. */
function beginningOf(text: string, maxChars: number): string {
  const start = text.slice(0, maxChars).toWellFormed();
  const end = Math.max(start.lastIndexOf('\n'), start.lastIndexOf(' '));
  return end > maxChars * 0.8 ? start.slice(0, end) : start;
}

function blockOf(text: string, { isCode, isRaw }: FoldedProps): ComponentChild {
  if (isCode) return codeBlock(text);
  const markdown = isRaw ? undefined : markdownView(text);
  return markdown
    ? h('div', { class: 'markdown', dir: 'auto' }, markdown)
    : h('div', { class: 'text', dir: 'auto' }, visibleText(text));
}
