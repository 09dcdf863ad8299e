import { annotationStates } from '../../../contract/queue-items.ts';
import { appendTo } from '../../../core/append-to.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import { pathSegments } from '../../../text/call-values.ts';
import { plainCellOf } from '../../../text/csv-line.ts';
import {
  type FileFormat,
  type ImportedCall,
  judgedValueOf,
  optionalText,
  parsedCell,
  timeOf,
  unnamed,
} from './imported-call.ts';

/** Judgements as `heddle queue export` writes them: a row for each judgement or note, with the values that were shown. */
export const judgementExport: FileFormat = {
  name: 'judgements of heddle',
  // A line of `--wide` has neither a field nor a note of its own.
  matches: (row) =>
    'call_id' in row && 'item_id' in row && 'annotation_state' in row && ('field' in row || 'note' in row),
  convert: (row) => [judged(row)],
};

function judged(row: Members): ImportedCall {
  const { call_values } = row;
  // A line of JSON has the members of a judgement or those of a note.
  const isCell = 'field' in row && 'note' in row;
  const columns = Object.entries(row).filter(([name]) => name.startsWith('call.'));
  const values: [path: string, value: unknown][] = isJsonObject(call_values)
    ? Object.entries(call_values)
    : columns
        .filter(([, cell]) => cell !== '')
        .map(([name, cell]) => [name.slice('call.'.length), parsedCell(plainCellOf(String(cell)))]);
  const call = objectOrEmpty(atPaths(values.map(([path, value]) => [pathSegments(path), value])));
  // An annotator is an account, and in brackets the name of the client that judged for it.
  const [, user, creator] = /^([^(]+) \((.+)\)$/.exec(String(row.annotator)) ?? [];
  const given = {
    annotator: user ?? optionalText(row.annotator) ?? unnamed,
    creator,
    judged_at: timeOf(row.judged_at),
  };
  const gold = String(row.gold) === 'true' && { is_gold: true, reason: optionalText(row.reason) };
  const field = optionalText(row.field);
  const note = optionalText(row.note);
  return {
    id: optionalText(row.call_id),
    opName: optionalText(row.call_op_name),
    startedAt: timeOf(row.call_started_at),
    inputs: objectOrEmpty(call.inputs),
    output: call.output,
    attributes: isJsonObject(call.attributes) ? call.attributes : undefined,
    show: values.map(([path]) => path),
    state: annotationStates.find((state) => state === row.annotation_state),
    judgements:
      field === undefined
        ? []
        : [{ field, value: isCell ? judgedValueOf(plainCellOf(String(row.value))) : row.value, ...given, ...gold }],
    notes: note === undefined ? [] : [{ note: isCell ? plainCellOf(note) : note, ...given }],
  };
}

/** Returns a value that has the given values at their paths: an object, or a list where the names are its indices. */
function atPaths(values: readonly (readonly [path: readonly string[], value: unknown])[]): unknown {
  const [only] = values;
  if (values.length === 1 && only![0].length === 0) return only![1];
  const groups = new Map<string, [readonly string[], unknown][]>();
  for (const [[name, ...rest], value] of values) {
    if (name === undefined) continue;
    appendTo(groups, name, [rest, value]);
  }
  const members = [...groups].map(([name, group]) => [name, atPaths(group)] as const);
  const isList = members.length > 0 && members.every(([name], index) => name === String(index));
  return isList ? members.map(([, value]) => value) : Object.fromEntries(members);
}
