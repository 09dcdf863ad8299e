import { Component, type ComponentChild, h } from 'preact';
import { button } from '../shared/button.ts';
import { countOf } from '../shared/labels.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { jsonView, reference, textView, type ValueStyle } from './text-view.ts';

/** A message of a chat, in any of the forms in which model providers send them. */
interface Message extends Record<string, unknown> {
  role: string;
}

/** Messages of a long talk that show at first, the last ones. */
const shownMessages = 3;
/** Characters that show at first of each message before the last one. */
const earlierChars = 1500;

const roleNames = new Map([
  ['system', 'System'],
  ['developer', 'Developer'],
  ['user', 'User'],
  ['human', 'User'],
  ['assistant', 'Assistant'],
  ['ai', 'Assistant'],
  ['model', 'Assistant'],
  ['tool', 'Tool result'],
  ['function', 'Tool result'],
]);

/**
 * Returns the messages that a value holds: a list of messages, one message, an object with `messages`, or the response of a
 * model with `choices`; undefined if it holds none.
 */
export function messagesOf(value: unknown): Message[] | undefined {
  const { messages, choices } = asMembers(value);
  if (Array.isArray(choices) && choices.length > 0) {
    const replies = choices.map((choice) => asMembers(choice).message);
    return replies.every(isMessage) ? replies : undefined;
  }
  const list = Array.isArray(value) ? value : Array.isArray(messages) ? messages : [value];
  return list.length > 0 && list.every(isMessage) ? list : undefined;
}

function isMessage(value: unknown): value is Message {
  const { role, content, parts, tool_calls } = asMembers(value);
  return typeof role === 'string' && (content !== undefined || parts !== undefined || tool_calls !== undefined);
}

function asMembers(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

interface TalkProps {
  messages: readonly Message[];
  style: ValueStyle;
}

/** The messages of a chat. Of a long talk, the last messages show, and the earlier ones when the person asks for them. */
export class TalkView extends Component<TalkProps, { isOpen: boolean }> {
  override state = { isOpen: false };

  override render({ messages, style }: TalkProps, { isOpen }: { isOpen: boolean }): ComponentChild {
    const hidden = isOpen || messages.length <= shownMessages + 1 ? 0 : messages.length - shownMessages;
    const toggle = (): void => this.setState({ isOpen: true });
    const label = `Show ${countOf(hidden, 'earlier message')}`;
    const shown = messages.slice(hidden).map((message, index) => {
      const isLast = hidden + index === messages.length - 1;
      const foldedChars = isLast ? style.foldedChars : Math.min(style.foldedChars, earlierChars);
      return messageView(message, { ...style, foldedChars });
    });
    return h(
      'div',
      { class: 'talk' },
      hidden > 0 && button(label, toggle, { class: 'earlier', 'aria-expanded': isOpen }),
      shown,
    );
  }
}

function messageView({ role, content, parts, tool_calls, ...rest }: Message, style: ValueStyle): ComponentChild {
  const said = content ?? parts;
  const pieces = (Array.isArray(said) ? said : [said]).flatMap((part) => partView(part, style));
  const calls = (Array.isArray(tool_calls) ? tool_calls : []).map((call) => toolCallView(call, style));
  const more = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const kind = roleNames.get(role.toLowerCase());
  return h(
    'div',
    { class: 'message', 'data-role': kind?.split(' ', 1)[0]?.toLowerCase() },
    h('p', { class: 'role' }, kind ?? plainText(role)),
    pieces,
    calls,
    more.length > 0 && foldedView('Other members', jsonView(Object.fromEntries(more), style)),
  );
}

function partView(part: unknown, style: ValueStyle): ComponentChild[] {
  if (part === null || part === undefined) return [];
  if (typeof part === 'string') return textView(part, style);
  const members = asMembers(part);
  const { type, text, thinking, image_url } = members;
  if (type === 'tool_use') return [toolCallView(part, style)];
  if (type === 'tool_result') {
    const { content } = members;
    const results = (Array.isArray(content) ? content : [content]).flatMap((each) => partView(each, style));
    return [toolView('Tool result', results)];
  }
  if (typeof text === 'string') return textView(text, style);
  if (typeof thinking === 'string') return [foldedView('Thinking', textView(thinking, style))];
  const url = typeof image_url === 'string' ? image_url : asMembers(image_url).url;
  return typeof url === 'string' ? [reference('Picture: '), ...textView(url, style)] : [jsonView(part, style)];
}

/** Draws a call of a tool, as OpenAI (`function.arguments`, a JSON text) or Anthropic (`input`) write it. */
function toolCallView(call: unknown, style: ValueStyle): ComponentChild {
  const members = asMembers(call);
  const called = asMembers(members.function);
  const name = called.name ?? members.name;
  const args = called.arguments ?? members.arguments ?? members.input ?? members.args;
  if (typeof name !== 'string') return jsonView(call, style);
  return toolView(
    ['Calls the tool ', h('code', {}, visibleText(name))],
    args !== undefined && argumentsView(args, style),
  );
}

function toolView(title: ComponentChild, content: ComponentChild): ComponentChild {
  return h('div', { class: 'tool' }, h('p', { class: 'role' }, title), content);
}

function foldedView(label: string, content: ComponentChild): ComponentChild {
  return h('details', { class: 'more' }, h('summary', {}, label), content);
}

function argumentsView(args: unknown, style: ValueStyle): ComponentChild[] {
  if (typeof args !== 'string') return [jsonView(args, style)];
  try {
    return [jsonView(JSON.parse(args), style)];
  } catch {
    return textView(args, style);
  }
}
