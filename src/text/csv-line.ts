import { valueText } from '../core/json/value-text.ts';
import { pluralize } from './page.ts';

/** Begins a CSV file: without it, Excel does not read the file as UTF-8. */
export const byteOrderMark = '\ufeff';

/** Beginnings of a cell that spreadsheets run as a formula, also in their full-width forms. */
const formula = /^[\s\u00a0]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;

/** A number is no formula, whatever its sign. */
const plainNumber = /^[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,4})?$/;

/**
 * Formats values as a line of CSV (RFC 4180) without its line end. Text that a spreadsheet would run as a formula gets an
 * apostrophe in front; `changed` has the positions of these cells.
 */
export function csvLine(values: readonly unknown[]): { line: string; changed: number[] } {
  const changed: number[] = [];
  const cells = values.map((value, at) => {
    const plain = valueText(value);
    const isRisky = typeof value === 'string' && formula.test(plain) && !plainNumber.test(plain);
    if (isRisky) changed.push(at);
    const text = isRisky ? `'${plain}` : plain;
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return { line: cells.join(','), changed };
}

/** Says how many cells {@link csvLine} has changed, and where the first one is. */
export function describeDefused(cells: number, first?: string): string {
  const where = first === undefined ? '' : `, the first in ${first}`;
  return `${pluralize(cells, 'cell')} that a spreadsheet would run as a formula got an apostrophe in front${where}.`;
}

/** Returns the text of a cell that {@link csvLine} wrote, without the apostrophe that keeps a spreadsheet from running it. */
export function plainCellOf(cell: string): string {
  const text = cell.slice(1);
  return cell.startsWith("'") && formula.test(text) && !plainNumber.test(text) ? text : cell;
}
