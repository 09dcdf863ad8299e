import { Component, type ComponentChild, h } from 'preact';
import { button } from './button.ts';
import { PureComponent } from './pure-component.ts';
import type { Formats } from './theme.ts';
import { visibleText } from './visible-text.ts';

/** Text longer than this is folded; of a longer one still, only the beginning can be shown. */
const foldedChars = 700;
const foldedLines = 14;
const maxShownChars = 50_000;

/** The ending that tools append to a value that they cut. */
const cutMark = /…\[\+(\d+) characters\]$/;

/** Returns whether a tool has cut a value. */
export function isCut(value: unknown): boolean {
  return typeof value === 'string' && cutMark.test(value);
}

interface ValueProps {
  value: unknown;
  formats: Formats;
  /** Loads the whole value, where only its beginning was sent; absent if it is too long even when it is read alone. */
  loadWhole?: (() => void) | undefined;
  loading?: 'loading' | 'failed' | undefined;
}

interface Message {
  role: string;
  content: unknown;
}

/** A value of a recorded call. Nothing in it runs, loads or becomes a link. */
export class ValueView extends PureComponent<ValueProps> {
  override render(props: ValueProps): ComponentChild {
    return h('div', { class: 'value', dir: 'auto' }, content(props.value, props));
  }
}

function content(value: unknown, props: ValueProps): ComponentChild[] {
  const { formats } = props;
  if (typeof value === 'string') {
    const cut = cutMark.exec(value);
    const parsed = cut ? undefined : parseJson(value);
    if (parsed !== undefined) return content(parsed, props);
    const shown = textBlocks(cut ? value.slice(0, cut.index) : value, formats);
    return cut ? [...shown, wholeButton(Number(cut[1]), props)] : shown;
  }
  const messages = asMessages(value);
  if (messages) return messages.map((message) => messageView(message, formats));
  if (typeof value === 'object' && value !== null) return [jsonBlock(value, formats)];
  return [h('span', { class: 'plain' }, String(value))];
}

/** Returns a list or an object that a string holds as JSON. */
function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || text.length > maxShownChars) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asMessages(value: unknown): Message[] | undefined {
  const list = Array.isArray(value) ? value : [value];
  const areMessages =
    list.length > 0 &&
    list.every((each) => typeof each?.role === 'string' && ('content' in each || 'tool_calls' in each));
  return areMessages ? (list as Message[]) : undefined;
}

function messageView({ role, content: said, ...rest }: Message, formats: Formats): ComponentChild {
  const parts = (Array.isArray(said) ? said : [said]).flatMap((part) => messagePart(part, formats));
  const more = Object.keys(rest).length > 0 && jsonBlock(rest, formats);
  const text = h('div', { dir: 'auto' }, parts, more);
  return h('div', { class: 'message' }, h('span', { class: 'role' }, visibleText(role)), text);
}

function messagePart(part: unknown, formats: Formats): ComponentChild[] {
  if (part === null || part === undefined) return [];
  if (typeof part === 'string') return textBlocks(part, formats);
  const { text, image_url } = part as { text?: unknown; image_url?: { url?: unknown } | string };
  if (typeof text === 'string') return textBlocks(text, formats);
  const url = typeof image_url === 'string' ? image_url : image_url?.url;
  return typeof url === 'string' ? textBlocks(url, formats) : [jsonBlock(part, formats)];
}

/** Lays out text; what stands between lines of three backquotes is code. */
function textBlocks(text: string, formats: Formats): ComponentChild[] {
  const data = /^data:([\w.+-]{1,60}\/[\w.+-]{1,60})[;,]/.exec(text);
  if (data) return [reference(`${data[1]}, ${formats.number(text.length)} characters`)];
  const parts = text.slice(0, maxShownChars).split(/^```.*$/m);
  const blocks = parts.flatMap((part, index) => {
    const kind = index % 2 === 1 ? 'code' : 'text';
    const trimmed = part.replace(/^\n|\n$/g, '');
    return trimmed === '' && parts.length > 1 ? [] : [h(FoldedText, { text: trimmed, kind, formats })];
  });
  const rest = text.length - maxShownChars;
  return rest <= 0 ? blocks : [...blocks, reference(`${formats.number(rest)} further characters are not shown`)];
}

function jsonBlock(value: unknown, formats: Formats): ComponentChild {
  return h(FoldedText, { text: JSON.stringify(value, null, 2), kind: 'code', formats });
}

function reference(text: string): ComponentChild {
  return h('span', { class: 'reference' }, text);
}

interface FoldedProps {
  text: string;
  kind: string;
  formats: Formats;
}

/** Text of which only the beginning shows until the person asks for all of it. */
class FoldedText extends Component<FoldedProps, { isOpen: boolean }> {
  override state = { isOpen: false };

  override render({ text, kind, formats }: FoldedProps, { isOpen }: { isOpen: boolean }): ComponentChild {
    const lines = text.split('\n');
    const isLong = text.length > foldedChars * 1.3 || lines.length > foldedLines + 4;
    if (!isLong) return h('div', { class: kind }, visibleText(text));
    const start = lines.slice(0, foldedLines).join('\n').slice(0, foldedChars).toWellFormed();
    const shown = isOpen ? text.slice(0, maxShownChars) : `${start} …`;
    const label = isOpen ? 'Show less' : `Show all ${formats.number(text.length)} characters`;
    const toggle = (): void => this.setState({ isOpen: !isOpen });
    const attributes = { class: 'quiet', 'aria-expanded': isOpen };
    return h('div', { class: kind }, h('div', {}, visibleText(shown)), button(label, toggle, attributes));
  }
}

function wholeButton(missing: number, { formats, loadWhole, loading }: ValueProps): ComponentChild {
  const count = `${formats.number(missing)} more characters`;
  if (!loadWhole) return reference(count);
  if (loading === 'loading') return button('Loading …', loadWhole, { class: 'quiet', disabled: true });
  return button(loading === 'failed' ? 'Not loaded. Try again' : `Load ${count}`, loadWhole, { class: 'quiet' });
}
