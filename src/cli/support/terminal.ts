import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];
type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>;

/** Width of a terminal that reports none. */
const defaultColumns = 80;
/** Width of tables in a pipe or a file, such as the log of a CI job. */
const fileColumns = 120;

/** Returns the number of columns of a terminal. A pseudo-terminal that nobody has sized reports 0. */
export function columnsOf(output: Output): number {
  return output.columns || defaultColumns;
}

/** Returns the width of what a command prints on stdout. */
export function resultWidth(): number {
  return process.stdout.isTTY ? columnsOf(process.stdout) : fileColumns;
}

/** Styles a text if the output shows colors: a terminal, unless NO_COLOR is set. See https://no-color.org. */
export function paint(style: Style, text: string, output: Output = process.stdout): string {
  // The check of Node itself does not exist in every version that heddle supports.
  return showsColors(output) ? styleText(style, text, { validateStream: false }) : text;
}

/** Returns whether an output shows colors. */
export function showsColors({ isTTY }: Output, { NO_COLOR, FORCE_COLOR, TERM } = process.env): boolean {
  if (NO_COLOR) return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0';
  return isTTY === true && TERM !== 'dumb';
}
