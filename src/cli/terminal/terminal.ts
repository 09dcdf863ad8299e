import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import { invocation, type TerminalSide } from '../invocation.ts';

type Style = Parameters<typeof styleText>[0];

/** Width of a terminal that reports none. */
const defaultColumns = 80;
/** Width of tables in a pipe or a file, such as the log of a CI job. */
const fileColumns = 120;

/** Returns the number of columns of a terminal. A pseudo-terminal whose size was never set reports 0. */
export function columnsOf(output: TerminalSide): number {
  return output.columns || defaultColumns;
}

/** Returns the width of what a command prints on stdout. */
export function resultWidth(): number {
  const { stdout } = invocation();
  return stdout.isTTY ? columnsOf(stdout) : fileColumns;
}

/** Styles a text if the output shows colors: a terminal, unless NO_COLOR is set. See https://no-color.org. */
export function paint(style: Style, text: string): string {
  // The check of Node itself does not exist in every version that heddle supports.
  return showsColors(invocation().stdout) ? styleText(style, text, { validateStream: false }) : text;
}

/** Returns whether an output shows colors. */
export function showsColors({ isTTY }: TerminalSide): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = invocation().environment;
  if (NO_COLOR) return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0';
  return isTTY === true && TERM !== 'dumb';
}

/** Returns the streams on which a person is asked. */
export function questionStreams({ stdin, stdout } = invocation()): { input: Readable; output: Writable } {
  return { input: stdin, output: stdout };
}

/** Returns whether a person can be asked. */
export function isInteractive({ stdin, stdout } = invocation()): boolean {
  return stdin.isTTY === true && stdout.isTTY === true;
}
