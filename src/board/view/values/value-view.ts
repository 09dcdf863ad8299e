import { type ComponentChild, h } from 'preact';
import { button } from '../shared/button.ts';
import { PureComponent } from '../shared/pure-component.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { messagesOf, TalkView } from './message-view.ts';
import {
  isNestedDeeper,
  jsonView,
  maxDepth,
  maxShownChars,
  reference,
  textView,
  type ValueStyle,
} from './text-view.ts';

/** The ending that tools append to a value that they cut. */
const cutMark = /…\[\+(\d+) characters\]$/;

/** Members of an object that is drawn as a list of names and values; a larger one is JSON. */
const maxListedMembers = 12;
const maxListedChars = 300;

/** Returns whether a tool has cut a value. */
export function isCut(value: unknown): boolean {
  return typeof value === 'string' && cutMark.test(value);
}

interface ValueProps extends ValueStyle {
  value: unknown;
  /** Loads the whole value, where only its beginning was sent; absent if it is too long even when it is read alone. */
  loadWhole?: (() => void) | undefined;
  loading?: 'loading' | 'failed' | undefined;
}

/** A value of a recorded call. Nothing in it runs, loads or becomes a link. */
export class ValueView extends PureComponent<ValueProps> {
  override render(props: ValueProps): ComponentChild {
    return h('div', { class: 'value', dir: 'auto' }, content(props.value, props));
  }
}

function content(value: unknown, props: ValueProps): ComponentChild[] {
  const { formats, foldedChars, isRaw } = props;
  const style = { formats, foldedChars, isRaw };
  if (typeof value === 'string') {
    const cut = cutMark.exec(value);
    const parsed = cut ? undefined : parseJson(value);
    if (parsed !== undefined) return content(parsed, props);
    if (!cut) return textView(value, style);
    // Half of a list or object is no use to a reader who is about to get the whole.
    const isJson = startsLikeJson(value);
    if (isJson && props.loading === 'loading') return [reference('Loading …')];
    const shown = textView(value.slice(0, cut.index), { ...style, isRaw: isRaw || isJson });
    return [...shown, wholeButton(Number(cut[1]), props)];
  }
  const messages = messagesOf(value);
  if (messages) return [h(TalkView, { messages, style })];
  if (typeof value === 'object' && value !== null) return [membersView(value) ?? jsonView(value, style)];
  return [h('span', { class: 'plain' }, String(value))];
}

function startsLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

/** Returns a list or an object that a string holds as JSON. */
function parseJson(text: string): unknown {
  if (!startsLikeJson(text) || text.length > maxShownChars) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isNestedDeeper(value, maxDepth) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Draws a small object of short values as names and values. */
function membersView(value: object): ComponentChild | undefined {
  const members = Array.isArray(value) ? [] : Object.entries(value);
  const isShort = (member: unknown): boolean =>
    typeof member === 'string' ? member.length <= maxListedChars : typeof member !== 'object' || member === null;
  if (members.length === 0 || members.length > maxListedMembers || !members.every(([, member]) => isShort(member)))
    return undefined;
  const rows = members.flatMap(([name, member]) => [
    h('dt', {}, plainText(name)),
    h('dd', { dir: 'auto' }, visibleText(String(member))),
  ]);
  return h('dl', { class: 'members' }, rows);
}

function wholeButton(missing: number, { formats, loadWhole, loading }: ValueProps): ComponentChild {
  const count = `${formats.number(missing)} more characters`;
  if (!loadWhole) return reference(count);
  if (loading === 'loading') return button('Loading …', loadWhole, { class: 'quiet', disabled: true });
  return button(loading === 'failed' ? 'Not loaded. Try again' : `Load ${count}`, loadWhole, { class: 'quiet' });
}
