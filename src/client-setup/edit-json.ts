import {
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  type ParseErrorCode,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { notConfigured } from '../core/errors.ts';
import { ownMember } from '../core/json/member-at.ts';
import { checkJsonLimits } from '../core/json/parse-json.ts';
import { type Edit, isSameKind } from './entry.ts';

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
  try {
    checkJsonLimits(text);
  } catch (error) {
    const hint = 'Fix the file, then run the command again.';
    throw notConfigured(`The file is ${(error as Error).message}. It was not changed.`, hint);
  }
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [first] = errors;
  if (!first) return tree;
  const line = text.slice(0, first.offset).split('\n').length;
  throw notConfigured(
    `The file is not valid JSON: ${describeError(first.error)} in line ${line}. It was not changed.`,
    'Fix that line, then run the command again.',
  );
}

/** Turns a code such as `CloseBraceExpected` into words: `expected close brace`. */
function describeError(code: ParseErrorCode): string {
  return printParseErrorCode(code)
    .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase()
    .replace(/^(.*) expected$/, 'expected $1');
}

/** Adds the entry, updates its members or removes it. `existing` is its current value. */
export function editJson(text: string, { servers, name, entry, existing }: Edit & { existing: unknown }): string {
  if (entry === undefined) {
    const withoutEntry = removeProperty(text, [servers, name]);
    const holder = findNodeAtLocation(parse(withoutEntry)!, [servers]);
    const isEmpty = holder && /^\{\s*\}$/.test(withoutEntry.slice(holder.offset, holder.offset + holder.length));
    return isEmpty ? removeProperty(withoutEntry, [servers]) : withoutEntry;
  }
  if (isSameKind(existing, entry)) {
    return Object.entries(entry)
      .filter(([member, value]) => JSON.stringify(ownMember(existing, member)) !== JSON.stringify(value))
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
  const lastEnd = last ? last.offset + last.length : close;
  if (!spansLines) return insert(text, lastEnd, last ? `, ${property}` : property);
  // Comments behind the last property stay behind it.
  const end = text.slice(0, close).trimEnd().length;
  const line = `${eol}${indent}${property}`;
  if (!last) return insert(text, end, line);
  const hasTrailingComma = commaAfter(text, lastEnd) !== undefined;
  return hasTrailingComma ? insert(text, end, `${line},`) : insert(insert(text, end, line), lastEnd, ',');
}

/** Removes a property, its comma and its line, and keeps every comment, which the library's own removal does not. */
function removeProperty(text: string, path: string[]): string {
  const property = findNodeAtLocation(parse(text)!, path)?.parent;
  const siblings = property?.parent?.children;
  if (!property || !siblings) return text;
  const comma = commaAfter(text, property.offset + property.length);
  let start = property.offset;
  let end = comma === undefined ? property.offset + property.length : comma + 1;

  const before = /(^|\n)[ \t]*$/.exec(text.slice(0, start));
  const after = /^[ \t]*(\r?\n|$)/.exec(text.slice(end));
  if (before && after) {
    start = before.index + before[1]!.length;
    end += after[0].length;
  } else {
    end += /^[ \t]*/.exec(text.slice(end))![0].length;
  }
  const removed = replace(text, start, end, '');
  const previous = siblings[siblings.indexOf(property) - 1];
  if (siblings.at(-1) !== property || !previous || comma !== undefined) return removed;
  const previousComma = commaAfter(text, previous.offset + previous.length)!;
  return replace(removed, previousComma, previousComma + 1, '');
}

/** Returns the offset of the comma after a property, if there is one. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  scanner.scan();
  const next = scanner.getTokenOffset();
  return text[next] === ',' ? next : undefined;
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

function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}
