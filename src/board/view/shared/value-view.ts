import { button, element } from './element.ts';
import { visibleText } from './visible-text.ts';

/** Text longer than this is folded; of a longer one still, only the beginning can be shown. */
const foldedChars = 700;
const foldedLines = 14;
const maxShownChars = 50_000;

/** The ending that tools append to a value that they cut. */
const cutMark = /…\[\+(\d+) characters\]$/;

/** Tells whether a tool has cut a value. */
export function isCut(value: unknown): boolean {
  return typeof value === 'string' && cutMark.test(value);
}

interface ValueOptions {
  /** Reads the whole value, where only its beginning was sent. */
  loadWhole?: () => Promise<unknown>;
  formatNumber: (value: number) => string;
}

interface Message {
  role: string;
  content: unknown;
}

/** Lays out a value of a recorded call. Nothing in it runs, loads or becomes a link. */
export function valueView(value: unknown, options: ValueOptions): HTMLElement {
  const box = element('div', { class: 'value', dir: 'auto' });
  const { formatNumber } = options;
  // A value that is too long even when it is read alone cannot be loaded.
  const showWhole = (whole: unknown): void => box.replaceChildren(...content(whole, { formatNumber }, showWhole));
  box.append(...content(value, options, showWhole));
  return box;
}

function content(value: unknown, options: ValueOptions, replace: (whole: unknown) => void): Node[] {
  if (typeof value === 'string') {
    const cut = cutMark.exec(value);
    const parsed = cut ? undefined : parseJson(value);
    if (parsed !== undefined) return content(parsed, options, replace);
    const shown = textBlocks(cut ? value.slice(0, cut.index) : value, options);
    return cut ? [...shown, wholeButton(Number(cut[1]), options, replace)] : shown;
  }
  const messages = asMessages(value);
  if (messages) return messages.map((message) => messageView(message, options));
  if (typeof value === 'object' && value !== null) return [folded(JSON.stringify(value, null, 2), 'code', options)];
  return [element('span', { class: 'plain' }, String(value))];
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

function messageView({ role, content: said, ...rest }: Message, options: ValueOptions): HTMLElement {
  const parts = Array.isArray(said) ? said : [said];
  const shown = parts.flatMap((part) => messagePart(part, options));
  const more = Object.keys(rest).length > 0 ? [folded(JSON.stringify(rest, null, 2), 'code', options)] : [];
  return element(
    'div',
    { class: 'message' },
    element('span', { class: 'role' }, visibleText(role)),
    element('div', { dir: 'auto' }, ...shown, ...more),
  );
}

function messagePart(part: unknown, options: ValueOptions): Node[] {
  if (part === null || part === undefined) return [];
  if (typeof part === 'string') return textBlocks(part, options);
  const { text, image_url } = part as { text?: unknown; image_url?: { url?: unknown } | string };
  if (typeof text === 'string') return textBlocks(text, options);
  const url = typeof image_url === 'string' ? image_url : image_url?.url;
  if (typeof url === 'string') return textBlocks(url, options);
  return [folded(JSON.stringify(part, null, 2), 'code', options)];
}

/** Lays out text; what stands between lines of three backquotes is code. */
function textBlocks(text: string, options: ValueOptions): Node[] {
  const data = /^data:([\w.+-]{1,60}\/[\w.+-]{1,60})[;,]/.exec(text);
  if (data)
    return [element('span', { class: 'reference' }, `${data[1]}, ${options.formatNumber(text.length)} characters`)];
  const parts = text.slice(0, maxShownChars).split(/^```.*$/m);
  const blocks = parts.flatMap((part, index) => {
    const isCode = index % 2 === 1;
    const trimmed = part.replace(/^\n|\n$/g, '');
    return trimmed === '' && parts.length > 1 ? [] : [folded(trimmed, isCode ? 'code' : 'text', options)];
  });
  const rest = text.length - maxShownChars;
  if (rest <= 0) return blocks;
  return [
    ...blocks,
    element('span', { class: 'reference' }, `${options.formatNumber(rest)} further characters are not shown`),
  ];
}

/** Returns text, of which only the beginning shows until the person asks for all of it. */
function folded(text: string, kind: 'code' | 'text', { formatNumber }: ValueOptions): HTMLElement {
  const block = element('div', { class: kind });
  const lines = text.split('\n');
  const isLong = text.length > foldedChars * 1.3 || lines.length > foldedLines + 4;
  if (!isLong) {
    block.append(visibleText(text));
    return block;
  }
  const start = lines.slice(0, foldedLines).join('\n').slice(0, foldedChars).toWellFormed();
  const body = element('div', {}, visibleText(`${start} …`));
  let isOpen = false;
  const label = `Show all ${formatNumber(text.length)} characters`;
  const toggle = button(
    label,
    () => {
      isOpen = !isOpen;
      body.replaceChildren(visibleText(isOpen ? text.slice(0, maxShownChars) : `${start} …`));
      toggle.textContent = isOpen ? 'Show less' : label;
      toggle.setAttribute('aria-expanded', String(isOpen));
    },
    { class: 'quiet', 'aria-expanded': 'false' },
  );
  block.append(body, toggle);
  return block;
}

function wholeButton(
  missing: number,
  { loadWhole, formatNumber }: ValueOptions,
  replace: (whole: unknown) => void,
): Node {
  const label = `Load ${formatNumber(missing)} more characters`;
  if (!loadWhole) return element('span', { class: 'reference' }, `${formatNumber(missing)} more characters`);
  const load = button(
    label,
    async () => {
      load.disabled = true;
      load.textContent = 'Loading …';
      try {
        replace(await loadWhole());
      } catch {
        load.disabled = false;
        load.textContent = 'Not loaded. Try again';
      }
    },
    { class: 'quiet' },
  );
  return load;
}
