import { readFileSync } from 'node:fs';
import { type Document, isCollection, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { fileFault } from '../../../core/errors.ts';
import { isInexact } from '../../../core/json/json-numbers.ts';
import { UsageError } from '../../terminal/report-failure.ts';

type Path = readonly PropertyKey[];

/** A fault of a file, or a note on it, at a value. */
export interface FileFault {
  path: Path;
  message: string;
}

/** The value of a YAML or JSON file, and the lines of its parts. */
export interface YamlFile {
  value: unknown;
  /** Returns the line, from 1, of the value at a path, or of the nearest value around it. */
  lineOf: (path: Path) => number;
}

/** Rows of any number belong into a file of their own. */
const maxChars = 4 * 1024 * 1024;
const maxShownFaults = 20;

/** Reads the text of a file that a command line or another file names. @throws UsageError if it cannot be read. */
export function readNamedText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${fileFault(error, 'read')}`);
  }
}

/**
 * Reads a YAML 1.2 file, of which JSON is a part.
 * @throws UsageError with the line of each fault of its syntax.
 */
export function readYamlFile(file: string): YamlFile {
  const text = readNamedText(file).replace(/^\ufeff/, '');
  if (text.length > maxChars) {
    throw new UsageError(
      `${file} has more than ${maxChars} characters; keep its rows in a file of CSV or JSON beside it`,
    );
  }
  const lines = new LineCounter();
  try {
    // Merge keys are what js-yaml, which other tools read such files with, knows too.
    const document = parseDocument(text, { lineCounter: lines, merge: true, prettyErrors: false });
    const faults = [
      // A fault of the syntax has others behind it.
      ...document.errors.slice(0, 1).map(({ message, pos: [start] }) => ({ line: lines.linePos(start).line, message })),
      ...changedNumbers(document).map(({ start, message }) => ({ line: lines.linePos(start).line, message })),
    ];
    if (faults.length > 0) throw faultyFile(file, faults);
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return { value, lineOf: (path) => lines.linePos(startOf(document, path)).line };
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`${file} is nested too deeply`);
    if (error instanceof ReferenceError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

/** Returns the error for a file with faults, each with its line. */
export function faultyFile(file: string, faults: readonly { line: number; message: string }[]): UsageError {
  const shown = faults.slice(0, maxShownFaults).map(({ line, message }) => `\n  line ${line}: ${message}`);
  const more = faults.length > maxShownFaults ? `\n  and ${faults.length - maxShownFaults} more` : '';
  return new UsageError(`${file} cannot be used:${shown.join('')}${more}`);
}

/** Returns the numbers of a document that JavaScript would change. */
function changedNumbers(document: Document.Parsed): { start: number; message: string }[] {
  const found: { start: number; message: string }[] = [];
  visit(document, {
    Scalar(_, { value, source = '', range }) {
      if (typeof value !== 'number' || (Number.isFinite(value) && !isInexact(source.replace(/^\+/, '')))) return;
      found.push({
        start: range?.[0] ?? 0,
        message: `${source.slice(0, 40)} cannot be kept as a number: put quotes around it`,
      });
    },
  });
  return found;
}

/** Returns the position of a value: of its name in an object, or of itself in a list. */
function startOf(document: Document.Parsed, path: Path): number {
  let start = document.contents?.range?.[0] ?? 0;
  let node: unknown = document.contents;
  for (const step of path) {
    if (!isCollection(node)) break;
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      : undefined;
    const next = node.get(isMap(node) ? (isScalar(pair?.key) ? pair.key.value : step) : step, true);
    const place = isNode(pair?.key) ? pair.key : isNode(next) ? next : undefined;
    if (!place?.range) break;
    start = place.range[0];
    node = next;
  }
  return start;
}
