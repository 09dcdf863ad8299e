import { escapeInvisible } from '../../text/compact-table.ts';
import { invocation } from '../invocation.ts';
import { alignTables } from './aligned-table.ts';
import { resultWidth } from './terminal.ts';

export function printLine(text: string): void {
  invocation().stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  printText(JSON.stringify(value, null, 2));
}

/** Prints text that others wrote. On a terminal, control characters in it are escaped, except tabs and line ends. */
export function printText(text: string): void {
  printLine(invocation().stdout.isTTY ? escapeControls(text) : text);
}

/** Prints the text of a tool, or a table in the form of one, for people. */
export function printAligned(text: string): void {
  printLine(alignTables(escapeControls(text), resultWidth()));
}

/** Escapes characters that could change a terminal, except tabs and line ends. */
export function escapeControls(text: string): string {
  return text
    .split(/([\t\n])/)
    .map((part) => (part === '\t' || part === '\n' ? part : escapeInvisible(part)))
    .join('');
}
