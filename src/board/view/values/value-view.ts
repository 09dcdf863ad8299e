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

/** The ending that tools append to a text that they cut, and the entry in place of those that they cut off a list. */
const cutMark = /…\[\+(\d+) characters\]$/;
const entriesMark = /^…\[\+\d+ entries\]$/;

/** Members of an object that is drawn as a list of names and values; a larger one is JSON. */
const maxListedMembers = 12;
const maxListedChars = 300;

/** Returns whether a tool has cut a value. */
export function isCut(value: unknown): boolean {
  if (Array.isArray(value)) return value.some((entry) => isEntriesMark(entry) || hasCut(entry));
  return typeof value === 'string' && cutMark.test(value);
}

const isEntriesMark = (entry: unknown): boolean => typeof entry === 'string' && entriesMark.test(entry);

/** Returns whether an entry of a list, or a text in it, was cut. */
function hasCut(entry: unknown): boolean {
  return Object.values(Object(entry) as object).some(isCut) || isCut(entry);
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
    return [...shown, wholeButton(`${formats.number(Number(cut[1]))} more characters`, props)];
  }
  if (Array.isArray(value) && isCut(value)) {
    if (props.loading === 'loading') return [reference('Loading …')];
    const entries = value.filter((entry) => !isEntriesMark(entry));
    const talk = messagesOf(entries);
    const shown = talk ? h(TalkView, { messages: talk, style }) : jsonView(entries, style);
    return [shown, wholeButton('the rest', props)];
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

/** @param missing what loading adds, like `20 more characters`. */
function wholeButton(missing: string, { loadWhole, loading }: ValueProps): ComponentChild {
  if (!loadWhole) return reference(missing);
  if (loading === 'loading') return button('Loading …', loadWhole, { class: 'quiet', disabled: true });
  return button(loading === 'failed' ? 'Not loaded. Try again' : `Load ${missing}`, loadWhole, { class: 'quiet' });
}
