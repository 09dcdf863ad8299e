import { drawRecord, drawTable, type TableOptions, textOfValue } from './table.ts';
import { paint } from './terminal.ts';

type Members = Record<string, unknown>;

/** Depth to which members of members get lines of their own; deeper values are written as JSON. */
const maxDepth = 6;
/** Columns that people copy into another command. */
const uncut = ['id', 'item_id', 'call_id', 'queue_id', 'name'];

/**
 * Draws the structured result of a tool for people: its simple members as lines of name and value, then a table for each list
 * of objects.
 * @param width number of columns of the terminal.
 */
export function drawResult(result: object, width: number): string {
  const options: TableOptions = { width, uncut };
  const simple: Members = {};
  const lists: [string, Members[]][] = [];
  collect(result as Members, '', { simple, lists });
  const sections = lists.map(([name, rows]) => drawList(name, rows, options));
  if (Object.keys(simple).length > 0) sections.push(drawRecord(simple, options));
  return sections.join('\n\n');
}

interface Collected {
  simple: Members;
  lists: [string, Members[]][];
}

function collect(members: Members, path: string, collected: Collected, depth = 0): void {
  for (const [name, value] of Object.entries(members)) {
    const place = path === '' ? name : `${path}.${name}`;
    if (isListOfObjects(value)) collected.lists.push([place, value]);
    else if (isObject(value) && depth < maxDepth) collect(value, place, collected, depth + 1);
    else collected.simple[place] = Array.isArray(value) ? value.map(textOfValue).join(', ') : value;
  }
}

function drawList(name: string, rows: Members[], options: TableOptions): string {
  const flat = rows.map((row) => flatten(row));
  // One row has room for whole values.
  const drawn = flat.length === 1 ? drawRecord(flat[0]!, options) : drawTable(flat, options);
  return `${paint('dim', `${textOfValue(name)}: ${rows.length}`)}\n${drawn}`;
}

/** Flattens a row: `{"a":{"b":1}}` to `{"a.b":1}`. Lists stay one value. The values of a call are named by their paths. */
function flatten(row: Members, path = '', depth = 0): Members {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]): [string, unknown][] => {
      const place = path === '' || path === 'call_values' ? name : `${path}.${name}`;
      if (isObject(value) && depth < maxDepth) return Object.entries(flatten(value, place, depth + 1));
      if (Array.isArray(value) && !value.some((entry) => typeof entry === 'object')) {
        return [[place, value.map(textOfValue).join(', ')]];
      }
      return [[place, value]];
    }),
  );
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isListOfObjects(value: unknown): value is Members[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}
