import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { notConfigured } from '../core/errors.ts';
import { type Edit, isLocalEntry } from './entry.ts';

/**
 * Parses JSON with comments and trailing commas, which most clients accept. Empty text is an empty object.
 * @throws HeddleError `not_configured` naming the line that is malformed.
 */
export function parseJson(text: string): unknown {
  const tree = parse(text);
  // Gives the objects a prototype, which the library leaves out, so that they compare as equal.
  return tree === undefined ? {} : JSON.parse(JSON.stringify(getNodeValue(tree)));
}

function parse(text: string): Node | undefined {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [first] = errors;
  if (!first) return tree;
  const line = text.slice(0, first.offset).split('\n').length;
  throw notConfigured(
    `The file is not valid JSON: ${printParseErrorCode(first.error)} in line ${line}. It was not changed.`,
    'Fix that line, then run the command again.',
  );
}

/** Adds the entry, updates its members or removes it. `existing` is its current value. */
export function editJson(text: string, { servers, name, entry, existing }: Edit & { existing: unknown }): string {
  if (entry === undefined) {
    const withoutEntry = removeProperty(text, [servers, name]);
    const holder = findNodeAtLocation(parse(withoutEntry)!, [servers]);
    const isEmpty = holder && /^\{\s*\}$/.test(withoutEntry.slice(holder.offset, holder.offset + holder.length));
    return isEmpty ? removeProperty(withoutEntry, [servers]) : withoutEntry;
  }
  if (isLocalEntry(existing)) {
    return Object.entries(entry)
      .filter(([member, value]) => JSON.stringify(existing[member]) !== JSON.stringify(value))
      .reduce((edited, [member, value]) => setProperty(edited, [servers, name, member], value), text);
  }
  const withRoot = ensureRoot(text);
  return findNodeAtLocation(parse(withRoot)!, [servers])
    ? setProperty(withRoot, [servers, name], entry)
    : setProperty(withRoot, [servers], { [name]: entry });
}

/** Adds an object that spans lines to a text that has none, after its comments. */
function ensureRoot(text: string): string {
  const isEmptyObject = text.trim() === '{}';
  if (parse(text) && !isEmptyObject) return text;
  const eol = lineEndOf(text);
  const comments = isEmptyObject || text.trim() === '' ? '' : `${text.trimEnd()}${eol}`;
  return `${comments}{${eol}}${eol}`;
}

/** Replaces the value of a property or appends the property. An object that is written on one line stays on it. */
function setProperty(text: string, path: string[], value: unknown): string {
  const tree = parse(text)!;
  const holder = findNodeAtLocation(tree, path.slice(0, -1))!;
  const found = findNodeAtLocation(tree, path);
  const last = holder.children?.at(-1);
  const close = holder.offset + holder.length - 1;
  const spansLines = text.slice(holder.offset, close).includes('\n');
  const eol = lineEndOf(text);
  const level = indentOf(text);
  const indent = last ? lineIndent(text, (found ?? last).offset) : lineIndent(text, close) + level;
  const lines = JSON.stringify(value, null, level).replaceAll('\n', eol + indent);
  const source = spansLines ? lines : JSON.stringify(value);
  if (found) return replace(text, found.offset, found.offset + found.length, source);

  const property = `${JSON.stringify(path.at(-1))}: ${source}`;
  if (!last) {
    const end = spansLines ? text.slice(0, close).trimEnd().length : close;
    return insert(text, end, spansLines ? `${eol}${indent}${property}` : property);
  }
  const end = last.offset + last.length;
  if (!spansLines) return insert(text, end, `, ${property}`);
  // Comments behind the last property stay on its line.
  const { commaOffset, lineEndOffset } = restOfLine(text, end);
  const line = `${eol}${indent}${property}`;
  return commaOffset === undefined
    ? insert(insert(text, lineEndOffset, line), end, ',')
    : insert(text, lineEndOffset, `${line},`);
}

/** Removes a property, its comma and its line, and keeps every comment, which the library's own removal does not. */
function removeProperty(text: string, path: string[]): string {
  const property = findNodeAtLocation(parse(text)!, path)?.parent;
  const siblings = property?.parent?.children;
  if (!property || !siblings) return text;
  const { commaOffset } = restOfLine(text, property.offset + property.length);
  let start = property.offset;
  let end = commaOffset === undefined ? property.offset + property.length : commaOffset + 1;

  const before = /(^|\n)[ \t]*$/.exec(text.slice(0, start));
  const after = /^[ \t]*(\r?\n|$)/.exec(text.slice(end));
  if (before && after) {
    start = before.index + before[1]!.length;
    end += after[0].length;
  } else {
    end += /^[ \t]*/.exec(text.slice(end))![0].length;
  }
  const removed = text.slice(0, start) + text.slice(end);
  const previous = siblings[siblings.indexOf(property) - 1];
  if (siblings.at(-1) !== property || !previous || commaOffset !== undefined) return removed;
  const { commaOffset: previousComma } = restOfLine(removed, previous.offset + previous.length);
  return previousComma === undefined ? removed : removed.slice(0, previousComma) + removed.slice(previousComma + 1);
}

/** Finds the comma after a property, and the offset behind it and the comments on the same line. */
function restOfLine(text: string, offset: number): { commaOffset: number | undefined; lineEndOffset: number } {
  const [all, space, comma] = /^((?:[ \t]|\/\*.*?\*\/)*)(,?)(?:[ \t]|\/\*.*?\*\/|\/\/.*)*/.exec(text.slice(offset))!;
  return { commaOffset: comma ? offset + space!.length : undefined, lineEndOffset: offset + all.length };
}

function insert(text: string, offset: number, content: string): string {
  return replace(text, offset, offset, content);
}

function replace(text: string, start: number, end: number, content: string): string {
  return text.slice(0, start) + content + text.slice(end);
}

function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

/** Returns one level of the file's indentation, or two spaces if no line is indented. */
function indentOf(text: string): string {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  return indent.includes('\t') ? '\t' : indent;
}

/** Returns the white space at the start of the line of an offset. */
function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}
