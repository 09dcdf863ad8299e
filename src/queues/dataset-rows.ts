import type { RecordedCall } from '../contract/calls.ts';
import type { StoredFeedback } from '../contract/feedback.ts';
import type { QueueItem } from '../contract/queue-items.ts';
import { appendTo } from '../core/append-to.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { inBatches } from '../core/in-batches.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import type { Members } from '../core/json/json-object.ts';
import { countEach } from '../core/statistics/count-each.ts';
import type { CallContext } from '../records/call-context.ts';
import { readCalls } from '../records/read-calls.ts';
import { valueAt } from '../text/call-values.ts';
import { shortName } from '../text/names.ts';
import { lastName, nearestPaths } from '../text/nearest-paths.ts';
import { pluralize } from '../text/page.ts';
import { learnAccount, meansCaller } from './authorship.ts';
import { emptyFilterHint, hasValue, type ItemsFilter, isByNamed } from './items-filter.ts';
import { goldOf, type Judgement, judgementsOf, latestJudgements, type Note, notesOf } from './judgements.ts';
import { matchingItems } from './matching-items.ts';
import type { QueueAccess } from './queue-access.ts';
import { requireAnnotators } from './require-annotators.ts';
import { requireField } from './require-field.ts';
import { requireQueue } from './require-queue.ts';

/** Items that one dataset takes, and bytes of their rows as JSON; a request to the service has a limit. */
export const maxDatasetRows = 10_000;
export const maxDatasetBytes = 16 * 1024 * 1024;

const callsPerBatch = 500;
/** Ids that a warning names. */
const maxNamedIds = 3;

/** The items of a queue that become rows, and the columns of the rows. */
export interface QueueSelection {
  queue_id: string;
  filter?: ItemsFilter | undefined;
  /** Path in the call, `judgement.<field>` or `note`, by column. */
  map?: Record<string, string> | undefined;
  /** Which of several judgements a column takes: `latest`, `majority`, `gold` or that of an annotator. */
  expected?: string | undefined;
}

/** Rows, with what the reader must know of them. */
export interface QueueRows {
  rows: Members[];
  warnings: string[];
}

/** The source of a column's values. */
type Source = { from: 'call'; path: string } | { from: 'judgement'; field: string } | { from: 'note' };

type Column = readonly [name: string, source: Source];

/**
 * Makes a row of each item of a queue that matches the filter. A column whose path does not exist is left out of the row, and a
 * warning says so.
 * @throws HeddleError when nothing matches, a path exists in no call, or there is too much.
 */
export async function rowsOfQueue(
  selection: QueueSelection,
  project: string,
  context: CallContext,
): Promise<QueueRows> {
  const { queue_id, expected = 'latest' } = selection;
  const mapped =
    selection.map && Object.entries(selection.map).map(([column, path]) => [column, sourceOf(path)] as const);
  if (selection.expected !== undefined && !mapped?.some(([, source]) => source.from === 'judgement')) {
    throw invalidArgument(['from_queue', 'expected'], {
      fault: 'expected chooses among judgements, and no column has any',
      hint: 'Pass map with a column from judgement.FIELD, or leave expected out.',
    });
  }
  const queue = { ...context, id: queue_id, project };
  const include_feedback = mapped?.some(([, source]) => source.from !== 'call') ?? false;
  const { items, feedback, filter } = await matchingItems(queue, selection.filter ?? {}, {
    include_feedback,
    limit: maxDatasetRows + 1,
  });
  if (items.length === 0) {
    await requireQueue(queue_id, project, context.service);
    throw new HeddleError({
      code: 'not_found',
      message: 'Nothing was stored: no item of the queue matches the filter.',
      hint: emptyFilterHint(filter) ?? 'Call summarize_queue to see what there is.',
    });
  }
  if (items.length > maxDatasetRows) {
    throw new HeddleError({
      code: 'too_large',
      message: `More than ${maxDatasetRows} items match; a dataset takes no more rows.`,
      hint: 'Narrow the filter.',
    });
  }
  const columns = mapped ?? defaultColumns(items);
  const judgements = judgementsOf(feedback);
  for (const [column, source] of columns) {
    if (source.from === 'judgement') {
      await requireField(source.field, judgements, queue, ['from_queue', 'map', column]);
    }
  }
  if (meansCaller(expected)) await learnAccount(judgements, queue);
  const annotated = new AnnotatedValues(feedback, filter, expected, queue);
  return makeRows(items, columns, annotated, project, context);
}

function sourceOf(path: string): Source {
  if (path === 'note') return { from: 'note' };
  const [, field] = /^judgement\.(.+)$/s.exec(path) ?? [];
  return field === undefined ? { from: 'call', path } : { from: 'judgement', field };
}

/** Returns a column for each display field. `output` would be mistaken for the output that an evaluation scores. */
function defaultColumns(items: readonly QueueItem[]): Column[] {
  const fields = [...new Set(items.flatMap(({ display_fields }) => display_fields))];
  const paths = fields.length > 0 ? fields : ['inputs', 'output'];
  const nameOf = (path: string): string => (path === 'output' ? 'recorded_output' : lastName(path));
  return paths.map((path) => {
    const isShared = paths.some((other) => other !== path && nameOf(other) === nameOf(path));
    return [isShared ? path.replaceAll(/[.[\]]+/g, '_') : nameOf(path), { from: 'call', path }];
  });
}

/** Returns the value to take of the judgements of a field, each of another annotator; undefined for none. */
type Choose = (given: readonly Judgement[]) => unknown;

function latestOf(given: readonly Judgement[]): unknown {
  return given.reduce<Judgement | undefined>((a, b) => (a !== undefined && a.at >= b.at ? a : b), undefined)?.value;
}

/** Returns the judgements with the value that more annotators gave than any other; none if no value is. */
export function majorityOf(given: readonly Judgement[]): Judgement[] {
  const uses = [...countEach(given.map(({ value }) => canonicalJson(value)))].sort(([, a], [, b]) => b - a);
  const [first, second] = uses;
  if (!first || first[1] === second?.[1]) return [];
  return given.filter(({ value }) => canonicalJson(value) === first[0]);
}

/** What `expected` can name besides annotators. */
const chooses = new Map<string, Choose>([
  ['latest', latestOf],
  ['majority', (given) => majorityOf(given)[0]?.value],
  ['gold', latestOf],
]);

/** The judgements and notes that rows take: gold, or those of the annotators whom the filter selects, the latest of each. */
class AnnotatedValues {
  readonly #judgements = new Map<string, Judgement[]>();
  readonly #notes = new Map<string, Note>();
  readonly #choose: Choose;
  readonly expected: string;

  /** @throws HeddleError for an annotator who has judged nothing. */
  constructor(feedback: readonly StoredFeedback[], filter: ItemsFilter, expected: string, queue: QueueAccess) {
    const isMeant = isByNamed(filter, queue);
    const judgements = judgementsOf(feedback);
    this.expected = expected;
    this.#choose = chooses.get(expected) ?? latestOf;
    const [annotator] = chooses.has(expected)
      ? []
      : requireAnnotators([expected], judgements, ['from_queue', 'expected'], queue);
    for (const judgement of expected === 'gold' ? goldOf(feedback) : latestJudgements(judgements)) {
      if (annotator !== undefined && judgement.annotator !== annotator) continue;
      // Of several annotators, one that the filter did not select does not count.
      const isSelected = isMeant(judgement) && (judgement.field !== filter.field || hasValue(judgement, filter));
      if (expected === 'latest' && !isSelected) continue;
      appendTo(this.#judgements, keyOf(judgement.call_id, judgement.field), judgement);
    }
    for (const note of notesOf(feedback).filter(isMeant)) this.#notes.set(note.call_id, note);
  }

  /** Returns the value of a field, whether it is the latest of several, and whether there is none because no value has a majority. */
  judgementOf(callId: string, field: string): { value: unknown; isDisputed?: boolean; isTied?: boolean } {
    const given = this.#judgements.get(keyOf(callId, field)) ?? [];
    const values = new Set(given.map(({ value }) => canonicalJson(value)));
    const value = this.#choose(given);
    return {
      value,
      isDisputed: this.#choose === latestOf && values.size > 1,
      isTied: value === undefined && values.size > 1,
    };
  }

  noteOf(callId: string): string | undefined {
    return this.#notes.get(callId)?.note;
  }
}

const keyOf = (callId: string, field: string): string => JSON.stringify([callId, field]);

async function makeRows(
  items: readonly QueueItem[],
  columns: readonly Column[],
  annotated: AnnotatedValues,
  project: string,
  context: CallContext,
): Promise<QueueRows> {
  const paths = columns.flatMap(([, source]) => (source.from === 'call' ? [source.path] : []));
  const rows: Members[] = [];
  const unread: string[] = [];
  const disputed: CallsByColumn = new Map();
  const missing: CallsByColumn = new Map();
  const tied: CallsByColumn = new Map();
  const empty: CallsByColumn = new Map();
  let anyCall: RecordedCall | undefined;
  let bytes = 0;
  for (const batch of inBatches(items, callsPerBatch)) {
    const toRead = batch.map(({ call_id }) => ({ call_id, display_fields: paths }));
    const calls = paths.length > 0 ? await readCalls(toRead, project, context.service) : undefined;
    for (const { call_id } of batch) {
      const call = calls?.get(call_id);
      if (call instanceof HeddleError) {
        unread.push(call_id);
        continue;
      }
      anyCall ??= call;
      const row: Members = {};
      for (const [column, source] of columns) {
        const { value, isDisputed, isTied } = valueFrom(source, call, call_id, annotated);
        if (isDisputed) appendTo(disputed, column, call_id);
        if (value === null) appendTo(empty, column, call_id);
        // Defined, since an assignment to a member called __proto__ would be lost.
        if (value !== undefined) Object.defineProperty(row, column, { value, enumerable: true, configurable: true });
        else appendTo(isTied ? tied : missing, column, call_id);
      }
      bytes += Buffer.byteLength(JSON.stringify(row));
      if (bytes > maxDatasetBytes) throw tooLarge();
      rows.push(row);
    }
    context.progress({ done: rows.length, total: items.length, unit: 'rows' });
  }
  for (const [column, source] of columns) {
    const without = [...(missing.get(column) ?? []), ...(tied.get(column) ?? [])];
    if (rows.length > 0 && without.length === rows.length) {
      throw leadsNowhere(column, source, anyCall, annotated.expected, tied.has(column));
    }
  }
  if (rows.length === 0) {
    throw new HeddleError({
      code: 'not_found',
      message: 'Nothing was stored: none of the recorded calls can be read.',
      hint: 'Call query_queue_items with include_call to see why.',
    });
  }
  return { rows, warnings: warningsOf(columns, { unread, missing, tied, empty, disputed }, annotated.expected) };
}

/** The ids of calls by column. */
type CallsByColumn = Map<string, string[]>;

/** Returns the warnings about calls that cannot be read, and about columns with missing, empty or disputed values. */
function warningsOf(
  columns: readonly Column[],
  {
    unread,
    ...found
  }: { unread: readonly string[] } & Record<'missing' | 'tied' | 'empty' | 'disputed', CallsByColumn>,
  expected: string,
): string[] {
  const warnings: string[] = [];
  if (unread.length > 0) {
    warnings.push(`${pluralize(unread.length, 'call')} cannot be read and has no row: ${firstIds(unread)}.`);
  }
  for (const [column, source] of columns) {
    const missingIn = found.missing.get(column) ?? [];
    if (missingIn.length > 0) {
      const count = pluralize(missingIn.length, 'row');
      warnings.push(
        `${count} without ${column}: ${placeOf(source, expected)} does not exist in ${firstIds(missingIn)}.`,
      );
    }
    const tiedIn = found.tied.get(column) ?? [];
    if (tiedIn.length > 0) {
      const count = pluralize(tiedIn.length, 'row');
      warnings.push(`${count} without ${column}: no value has a majority in ${firstIds(tiedIn)}. ${settledByGold}`);
    }
    const emptyIn = found.empty.get(column) ?? [];
    if (emptyIn.length > 0) {
      // Failed calls have null as their output; a prompt would be filled with this word.
      warnings.push(`${column} is null in ${pluralize(emptyIn.length, 'row')}: ${firstIds(emptyIn)}.`);
    }
    const disputedIn = found.disputed.get(column) ?? [];
    if (disputedIn.length > 0) {
      const count = pluralize(disputedIn.length, 'row');
      warnings.push(`Annotators differ about ${column} in ${count}; the latest counts: ${firstIds(disputedIn)}.`);
    }
  }
  return warnings;
}

function valueFrom(
  source: Source,
  call: RecordedCall | undefined,
  callId: string,
  annotated: AnnotatedValues,
): ReturnType<AnnotatedValues['judgementOf']> {
  if (source.from === 'judgement') return annotated.judgementOf(callId, source.field);
  return {
    value: source.from === 'note' ? annotated.noteOf(callId) : call && valueAt(call, source.path),
  };
}

function placeOf(source: Source, expected: string): string {
  if (source.from === 'call') return source.path;
  if (source.from === 'note') return 'note';
  return `judgement.${source.field}${expected === 'latest' ? '' : ` (${shortName(expected)})`}`;
}

/** Lists ids for a warning, which names only the first of them. */
function firstIds(ids: readonly string[]): string {
  const rest = ids.length - maxNamedIds;
  return `${ids.slice(0, maxNamedIds).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

export function tooLarge(): HeddleError {
  return new HeddleError({
    code: 'too_large',
    message: `Nothing was stored: the rows have more than ${maxDatasetBytes / 1024 / 1024} MiB.`,
    hint: 'Take fewer rows, or map only the values that are needed.',
  });
}

const settledByGold = 'Gold settles that, and expected gold takes it.';

function leadsNowhere(
  column: string,
  source: Source,
  call: RecordedCall | undefined,
  expected: string,
  isTied: boolean,
): HeddleError {
  const near = source.from === 'call' && call ? nearestPaths([call], source.path) : [];
  return invalidArgument(['from_queue', 'map', column], {
    consequence: 'Nothing was stored',
    fault: `${placeOf(source, expected)} exists in no row${isTied ? ': no value has a majority' : ''}`,
    hint: isTied
      ? settledByGold
      : near.length > 0
        ? `The nearest paths are ${near.join(', ')}.`
        : 'Judgements are judgement.<field>; call summarize_queue by field to see which there are.',
  });
}
