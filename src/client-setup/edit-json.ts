import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  type Edit as TextEdit,
} from 'jsonc-parser';
import { HeddleError } from '../core/errors.ts';
import { type Edit, isLocal } from './edit-config.ts';

/**
 * The value of a JSON text. Comments and trailing commas are accepted, as most clients accept them; nothing at all is
 * an empty object.
 * @throws HeddleError `not_configured` that says where the text is malformed.
 */
export function parseJson(text: string): unknown {
  const tree = treeOf(text);
  // The library's objects have no prototype, which comparing them takes for a difference.
  return tree === undefined ? {} : JSON.parse(JSON.stringify(getNodeValue(tree)));
}

function treeOf(text: string): Node | undefined {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [first] = errors;
  if (!first) return tree;
  const line = text.slice(0, first.offset).split('\n').length;
  throw new HeddleError({
    code: 'not_configured',
    message: `The file is not valid JSON: ${printParseErrorCode(first.error)} in line ${line}. It was left as it is.`,
    hint: 'Correct that line, then run the command again.',
  });
}

/** Puts the entry in, brings its members up to date, or takes it out. */
export function editJson(text: string, { servers, name, entry, existing }: Edit & { existing: unknown }): string {
  const path = [servers, name];
  if (entry === undefined) {
    const without = removeProperty(text, path);
    const rest = findNodeAtLocation(treeOf(without)!, [servers]);
    return rest && /^\{\s*\}$/.test(textOf(without, rest)) ? removeProperty(without, [servers]) : without;
  }
  if (isLocal(existing)) {
    return Object.entries(entry)
      .filter(([member, value]) => JSON.stringify(existing[member]) !== JSON.stringify(value))
      .reduce((now, [member, value]) => setProperty(now, path, member, value), text);
  }
  const root = treeOf(text);
  if (root === undefined || text.trim() === '{}') {
    const eol = eolOf(text);
    // A file of comments only keeps them.
    const lead = root || text.trim() === '' ? '' : `${text.trimEnd()}${eol}`;
    return `${lead}${JSON.stringify({ [servers]: { [name]: entry } }, null, 2)
      .split('\n')
      .join(eol)}${eol}`;
  }
  return findNodeAtLocation(root, [servers])
    ? setProperty(text, [servers], name, entry)
    : setProperty(text, [], servers, { [name]: entry });
}

/**
 * Sets a property of an object, as its last one where it is new: on lines of its own in an object that spans lines, else
 * on the same line. The library's own way would put it before a comment that stands behind the last property, which
 * would then speak of the wrong one, and would format a file anew that is one long line.
 */
function setProperty(text: string, path: string[], name: string, value: unknown): string {
  const holder = findNodeAtLocation(treeOf(text)!, path)!;
  const [eol, unit] = [eolOf(text), indentOf(text)];
  const spansLines = textOf(text, holder).includes('\n');
  const write = (indent: string): string =>
    spansLines ? JSON.stringify(value, null, unit).split('\n').join(`${eol}${indent}`) : JSON.stringify(value);

  const old = findNodeAtLocation(holder, [name]);
  if (old)
    return applyEdits(text, [{ offset: old.offset, length: old.length, content: write(lineIndent(text, old.offset)) }]);
  const last = holder.children?.at(-1);
  const close = holder.offset + holder.length - 1;
  if (!last) {
    if (!spansLines) return insert(text, close, `${JSON.stringify(name)}: ${write('')}`);
    const outer = lineIndent(text, close);
    const start = close - /[ \t]*$/.exec(text.slice(0, close))![0].length;
    return insert(text, start, `${outer}${unit}${JSON.stringify(name)}: ${write(outer + unit)}${eol}`);
  }
  const end = last.offset + last.length;
  if (!spansLines) return insert(text, end, `, ${JSON.stringify(name)}: ${write('')}`);
  const { comma, lineEnd } = behind(text, end);
  const indent = lineIndent(text, last.offset);
  const added = `${eol}${indent}${JSON.stringify(name)}: ${write(indent)}`;
  return comma === undefined ? insert(insert(text, lineEnd, added), end, ',') : insert(text, lineEnd, `${added},`);
}

function insert(text: string, offset: number, content: string): string {
  return text.slice(0, offset) + content + text.slice(offset);
}

/** Takes a property out with its own line ends and comma, and leaves every comment. */
function removeProperty(text: string, path: string[]): string {
  const property = findNodeAtLocation(treeOf(text)!, path)?.parent;
  const siblings = property?.parent?.children;
  if (!property || !siblings) return text;
  const previous = siblings[siblings.indexOf(property) - 1];
  const isLast = siblings.at(-1) === property;
  let start = property.offset;
  const { comma } = behind(text, property.offset + property.length);
  let end = comma === undefined ? property.offset + property.length : comma + 1;

  const indent = /(^|\n)[ \t]*$/.exec(text.slice(0, start));
  const rest = /^[ \t]*(\r?\n|$)/.exec(text.slice(end));
  if (indent && rest) {
    start = indent.index + indent[1]!.length;
    end += rest[0].length;
  } else {
    end += /^[ \t]*/.exec(text.slice(end))![0].length;
  }
  const edits: TextEdit[] = [{ offset: start, length: end - start, content: '' }];
  if (isLast && previous && comma === undefined) {
    const before = behind(text, previous.offset + previous.length).comma;
    if (before !== undefined) edits.unshift({ offset: before, length: 1, content: '' });
  }
  return applyEdits(text, edits);
}

/** What follows a property: its comma, if any, and the end of its line, comments on the line included. */
function behind(text: string, end: number): { comma?: number; lineEnd: number } {
  const token = /[ \t]+|\r?\n|,|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//y;
  token.lastIndex = end;
  let comma: number | undefined;
  let lineEnd: number | undefined;
  let offset = end;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    if (match[0].endsWith('\n')) lineEnd ??= offset;
    offset = token.lastIndex;
    if (match[0] !== ',') continue;
    if (comma !== undefined) break;
    comma = offset - 1;
    // A comma on a later line belongs to the property all the same; what is appended goes behind it.
    if (lineEnd !== undefined) lineEnd = offset;
  }
  return { ...(comma !== undefined && { comma }), lineEnd: lineEnd ?? offset };
}

function textOf(text: string, { offset, length }: Node): string {
  return text.slice(offset, offset + length);
}

/** Line ends and indentation as the file has them; two spaces where it does not say. */
function eolOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

function indentOf(text: string): string {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  return indent.includes('\t') ? '\t' : indent;
}

/** The white space that the line of a place begins with. */
function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}
