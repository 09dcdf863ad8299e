import { cell } from '../../tools/support/table.ts';

/** Least width to which a column is cut. */
const minWidth = 8;
const gap = '  ';

/**
 * Formats rows as a table of columns that fits into `width` characters: the widest columns are cut first. Characters that a
 * terminal would obey are escaped.
 */
export function textTable(headings: readonly string[], rows: readonly (readonly unknown[])[], width: number): string {
  const lines = [headings, ...rows].map((row) => headings.map((_, column) => textOf(row[column])));
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const total = (): number => widths.reduce((sum, each) => sum + each, 0) + gap.length * (widths.length - 1);
  while (total() > width) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest]! <= minWidth) break;
    // Down to the next width at once, because cells can be long.
    const second = Math.max(minWidth, ...widths.filter((_, column) => column !== widest));
    const surplus = total() - width;
    widths[widest] = Math.max(minWidth, widths[widest]! - Math.max(1, Math.min(surplus, widths[widest]! - second)));
  }
  return lines
    .map((line) =>
      line
        .map((text, column) => cutTo(text, widths[column]!).padEnd(widths[column]!))
        .join(gap)
        .trimEnd(),
    )
    .join('\n');
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : cell(value);
}

function cutTo(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1).toWellFormed()}…`;
}

/** Width of the terminal, or a width for a file or pipe. */
export function outputWidth(): number {
  return process.stdout.columns ?? 120;
}

const barWidth = 24;

/** Returns a bar for a terminal, like `[######··················] 3/12`. */
export function progressBar(done: number, total: number | undefined): string {
  if (total === undefined || total === 0) return `${done} done`;
  const filled = Math.min(barWidth, Math.floor((barWidth * done) / total));
  return `[${'#'.repeat(filled)}${'·'.repeat(barWidth - filled)}] ${done}/${total}`;
}
