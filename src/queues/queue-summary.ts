import * as z from 'zod';
import { annotationStates, type QueueItem } from '../contract/queue-items.ts';
import { groupBy } from '../core/append-to.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import { agreementFigures, weightedFigures } from '../core/statistics/agreement.ts';
import { countEach } from '../core/statistics/count-each.ts';
import type { ClassPair } from '../core/statistics/kappa.ts';
import { alphaOfClasses, alphaOfNumbers } from '../core/statistics/krippendorff.ts';
import { rounded } from '../core/statistics/rounded.ts';
import { cutValue } from '../text/call-values.ts';
import type { Judgement } from './judgements.ts';

/** The dimensions by which a summary can count. */
export const dimensions = ['state', 'operation', 'annotator', 'field', 'day'] as const;
export type Dimension = (typeof dimensions)[number];

/** Maximum number of count columns. */
const maxColumns = 10;
/** Maximum length of a label. */
const maxLabelChars = 80;
/** Average length of a label for which the rows of a table have room. */
const maxCharsPerRow = 40;
/** A field of numbers with at most this many values is also counted by value. */
const maxCountedNumbers = 10;
const maxFields = 20;
/** Annotators, of whom each pair is compared. */
const maxCompared = 20;
/** Disagreements that are listed for each of many pairs. */
const minDisagreements = 5;

/** The part of the tables and comparisons that a summary shows. */
export interface SummaryPart {
  /** Rows of a table; the number of comparisons and of listed disagreements follows from it. */
  limit: number;
  /** Rows and comparisons to skip. */
  offset: number;
}

const cell = z.union([z.string(), z.number(), z.boolean()]);
type Cell = z.output<typeof cell>;

/** A table of counts. The first column labels the rows. */
export const summaryTable = z.object({
  field: z.string().optional().describe('Field that the table is about.'),
  columns: z.array(cell),
  rows: z.array(z.array(cell)).describe('Most frequent first; newest day first.'),
  others: z
    .object({ rows: z.int(), cells: z.array(cell), next_offset: z.int().optional() })
    .optional()
    .describe('Number of rows left out, their cells together, and the offset of the next rows.'),
  total: z.array(cell).optional().describe('Cells of all rows together, those left out included; an item counts once.'),
});
export type SummaryTable = z.output<typeof summaryTable>;

const interval = z.tuple([z.number(), z.number()]).describe('95 %.');

/** The agreement of two annotators on a field. */
export const agreementOfTwo = z.object({
  field: z.string(),
  annotators: z.tuple([z.string(), z.string()]),
  items: z.int().describe('Items that both judged.'),
  percent: z.number().optional().describe('Of these items, those with the same value.'),
  kappa: z.number().optional().describe("Cohen's kappa, unweighted."),
  kappa_interval: interval.optional(),
  no_kappa: z.string().optional().describe('Why kappa is undefined.'),
  quadratic_weighted_kappa: z.number().optional().describe('Only for numbers.'),
  quadratic_weighted_kappa_interval: interval.optional(),
  classes: z.array(cell).optional().describe('The values that the confusion table counts.'),
  confusion: z.array(z.array(z.int())).optional().describe('Row: first annotator. Column: second. By classes.'),
  other_classes: z.int().optional().describe('Number of rarer values, which the confusion table leaves out.'),
  disagreements: z.int().optional(),
  disagreement_ids: z.array(z.string()).optional().describe('Item ids of the first disagreements.'),
});
export type Agreement = z.output<typeof agreementOfTwo>;

/** The agreement of more than two annotators on a field. */
export const agreementOfAll = z.object({
  field: z.string(),
  annotators: z.int(),
  items: z.int().describe('Items that at least two judged.'),
  alpha: z.number().optional().describe("Krippendorff's alpha."),
  distance: z.enum(['nominal', 'interval']).describe('interval: numbers, by squared difference.'),
});
export type AgreementOfAll = z.output<typeof agreementOfAll>;

/** The members of an item that a summary needs, or of `count` items that share an operation, a state and all judgements. */
export type SummarizedItem = NamedItem &
  Pick<QueueItem, 'call_op_name' | 'annotation_state'> & {
    count?: number;
    /** The items by name, if annotators differ on them. */
    named?: readonly NamedItem[] | undefined;
  };

/** An item, with its place in the order of the queue among the others that are read. Items that are alike have the place 0 together. */
interface NamedItem extends Pick<QueueItem, 'id' | 'call_id'> {
  place: number;
}

/** Counts items. */
export function countItems(items: readonly SummarizedItem[]): number {
  return items.reduce((sum, { count = 1 }) => sum + count, 0);
}

/** Returns each of the items that are alike: by name if it has one, else by that of all. */
export function eachItem(item: SummarizedItem): readonly NamedItem[] {
  return item.named ?? repeated(item, item);
}

/** An item, or one judgement of it. */
interface Entry {
  item: SummarizedItem;
  judgement?: Judgement;
}

/** A judgement with its item. */
export type JudgedItem = Required<Entry>;

/** Entries with the same value of something. */
interface Group {
  /** Tells groups apart; labels can be cut. */
  key: string;
  label: Cell;
  entries: Entry[];
}

type Labelled = Pick<Group, 'key' | 'label'>;
type Unit = 'items' | 'judgements';

/** Counts items by one dimension or by two. `judged` are the judgements that count. */
export function summaryTables(
  by: readonly Dimension[],
  items: readonly SummarizedItem[],
  judged: readonly JudgedItem[],
  part: SummaryPart,
  progress: AnnotatorProgress,
): SummaryTable[] {
  if (by.includes('field')) {
    const other = by.find((dimension) => dimension !== 'field');
    return fieldGroups(judged).flatMap(({ label, entries }) =>
      fieldTables(entries, other, part).map((table) => ({ field: String(label), ...table })),
    );
  }
  if (by.length === 1 && by[0] === 'annotator') return annotatorTable(judged, part, progress);
  const entries = by.includes('annotator') || by.includes('day') ? judged : items.map((item) => ({ item }));
  // Few columns read best: states, or else annotators.
  const [rows = 'state', columns] = (['day', 'operation', 'annotator', 'state'] as const).filter((name) =>
    by.includes(name),
  );
  const groups = groupsOf(entries, rows, 'items');
  if (columns === undefined) return tableOf(rows, ['items'], groups, (group) => [count(group, 'items')], part);
  const columnGroups = groupsOf(entries, columns, 'items');
  return crossTable(rows, 'items', groups, columnGroups, (entry) => labelOf(entry, columns), part);
}

/** Returns the names of the fields that have no table, because only the most judged ones have. */
export function otherFields(judged: readonly JudgedItem[]): string[] {
  return groupsOf(judged, 'field')
    .slice(maxFields)
    .map(({ key }) => key);
}

/** Returns the item of each judgement, which is among `items`. */
export function judgedItems(items: readonly SummarizedItem[], judgements: readonly Judgement[]): JudgedItem[] {
  const itemsByCall = new Map(items.map((item) => [item.call_id, item]));
  return judgements.map((judgement) => ({ judgement, item: itemsByCall.get(judgement.call_id)! }));
}

function labelOf({ item, judgement }: Entry, dimension: Dimension): string {
  if (dimension === 'state') return item.annotation_state;
  if (dimension === 'operation') return item.call_op_name;
  if (dimension === 'day') return dayOf(judgement!);
  return dimension === 'annotator' ? judgement!.annotator : judgement!.field;
}

/** Returns the day of a judgement in UTC, like `2026-11-23`. */
function dayOf({ at }: Judgement): string {
  return at.slice(0, 10);
}

/** Groups entries by a dimension: states in their order, the newest day first, anything else with the largest group first. */
function groupsOf(entries: readonly Entry[], dimension: Dimension, unit: Unit = 'judgements'): Group[] {
  const label = (entry: Entry): string => labelOf(entry, dimension);
  const groups = largestFirst(entries, label, label, unit);
  if (dimension === 'day') return groups.sort((a, b) => (a.key > b.key ? -1 : 1));
  if (dimension !== 'state') return groups;
  // A state that heddle does not know comes last.
  const states: readonly string[] = [...annotationStates, ...groups.map(({ key }) => key)];
  return groups.sort((a, b) => states.indexOf(a.key) - states.indexOf(b.key));
}

function largestFirst(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => string,
  labelOfGroup: (entry: Entry) => Cell,
  unit: Unit = 'judgements',
): Group[] {
  const groups = [...groupBy(entries, keyOf)].map(([key, list]) => ({
    key,
    label: labelOfGroup(list[0]!),
    entries: list,
  }));
  const sizes = new Map(groups.map((group) => [group, count(group.entries, unit)]));
  return [...sizes.keys()].sort((a, b) => sizes.get(b)! - sizes.get(a)! || (a.key < b.key ? -1 : 1));
}

/** Returns the groups that a table shows: those of the part, as far as their labels are short together. */
function shownGroups(groups: readonly Group[], { limit, offset }: SummaryPart): Group[] {
  let chars = 0;
  return groups.slice(offset, offset + limit).filter(({ label }, index) => {
    chars += String(label).length;
    return index === 0 || chars <= limit * maxCharsPerRow;
  });
}

function tableOf(
  label: string,
  columns: Cell[],
  groups: readonly Group[],
  cellsOf: (entries: readonly Entry[]) => Cell[],
  part: SummaryPart,
): SummaryTable[] {
  if (groups.length === 0) return [];
  const shown = shownGroups(groups, part);
  const next_offset = part.offset + shown.length;
  const rest = [...groups.slice(0, part.offset), ...groups.slice(next_offset)];
  return [
    {
      columns: [label, ...columns],
      rows: shown.map((group) => [group.label, ...cellsOf(group.entries)]),
      ...(rest.length > 0 && {
        others: {
          rows: rest.length,
          cells: cellsOf(rest.flatMap(({ entries }) => entries)),
          ...(next_offset < groups.length && { next_offset }),
        },
      }),
    },
  ];
}

/** Counts each group of rows by another property of its entries; the last column counts those of the columns left out. */
function crossTable(
  label: string,
  unit: Unit,
  groups: readonly Group[],
  columnGroups: readonly Labelled[],
  columnOf: (entry: Entry) => string,
  part: SummaryPart,
  areNumbers = false,
): SummaryTable[] {
  const shown = columnGroups.slice(0, maxColumns);
  const rest = columnGroups.length - shown.length;
  const places = new Map(shown.map(({ key }, place) => [key, place]));
  const cellsOf = (entries: readonly Entry[]): number[] => {
    const columns: Entry[][] = Array.from({ length: shown.length + (rest > 0 ? 1 : 0) }, () => []);
    for (const entry of entries) columns[places.get(columnOf(entry)) ?? shown.length]!.push(entry);
    const [total = 0, ...counts] = [entries, ...columns].map((column) => count(column, unit));
    return [total, ...(areNumbers ? [meanOf(entries)] : []), ...counts];
  };
  const means = areNumbers ? ['mean'] : [];
  const columns = [unit, ...means, ...shown.map((column) => column.label), ...(rest > 0 ? [`${rest} others`] : [])];
  return withTotal(tableOf(label, columns, groups, cellsOf, part), groups, cellsOf);
}

function withTotal(
  tables: readonly SummaryTable[],
  groups: readonly Group[],
  cellsOf: (entries: readonly Entry[]) => Cell[],
): SummaryTable[] {
  if (groups.length < 2) return [...tables];
  const total = cellsOf(groups.flatMap(({ entries }) => entries));
  return tables.map((table) => ({ ...table, total }));
}

/** Counts entries, or the different items among them. */
function count(entries: readonly Entry[], unit: Unit): number {
  const items = entries.map(({ item }) => item);
  return countItems(unit === 'judgements' ? items : [...new Map(items.map((item) => [item.id, item])).values()]);
}

/** What is known of annotators beside their judgements. */
export interface AnnotatorProgress {
  /** All judgements of the items, with which those that count are compared. */
  all: readonly JudgedItem[];
  /** Today's date in UTC. */
  today: string;
  /** Seconds that each annotator takes for an item. */
  seconds: ReadonlyMap<string, number>;
}

/** A cell for what cannot be told. */
const unknown = '-';

function annotatorTable(
  judged: readonly JudgedItem[],
  part: SummaryPart,
  { all, today, seconds }: AnnotatorProgress,
): SummaryTable[] {
  const annotatorsOfPlaces = countEach(all.map(placeOf));
  const firstValues = new Map<string, string>();
  const disputedPlaces = new Set<string>();
  for (const entry of all) {
    const [place, value] = [placeOf(entry), canonicalJson(entry.judgement.value)];
    const first = firstValues.get(place) ?? value;
    firstValues.set(place, first);
    if (first !== value) disputedPlaces.add(place);
  }
  const cellsOf = (entries: readonly Entry[]): Cell[] => {
    const shared = entries.filter((entry) => annotatorsOfPlaces.get(placeOf(entry))! > 1);
    const disputed = shared.filter((entry) => disputedPlaces.has(placeOf(entry)));
    const ofToday = entries.filter(({ judgement }) => dayOf(judgement!) === today);
    const annotators = new Set(entries.map(({ judgement }) => judgement!.annotator));
    const [annotator = ''] = annotators;
    return [
      count(entries, 'judgements'),
      count(entries, 'items'),
      count(ofToday, 'items'),
      count(shared, 'judgements'),
      count(disputed, 'judgements'),
      (annotators.size === 1 ? seconds.get(annotator) : undefined) ?? unknown,
    ];
  };
  const columns = ['judgements', 'items', 'today', 'shared', 'disputed', 'seconds per item'];
  return tableOf('annotator', columns, groupsOf(judged, 'annotator'), cellsOf, part);
}

function placeOf({ item, judgement }: Entry): string {
  return JSON.stringify([item.id, judgement!.field]);
}

function fieldGroups(judged: readonly JudgedItem[]): Group[] {
  return groupsOf(judged, 'field').slice(0, maxFields);
}

/** Counts the judgements of one field by value, alone or by another dimension as well. */
function fieldTables(entries: readonly Entry[], other: Dimension | undefined, part: SummaryPart): SummaryTable[] {
  const classOfEntry = (entry: Entry): string => canonicalJson(entry.judgement!.value);
  const values = largestFirst(entries, classOfEntry, (entry) => valueLabel(entry.judgement!.value));
  const groups = other === undefined ? values : groupsOf(entries, other);
  const areNumbers = values.every(({ label }) => typeof label === 'number');
  if (areNumbers && values.length > maxCountedNumbers) return numberTables(entries, other, groups, part);
  if (areNumbers) values.sort((a, b) => Number(a.label) - Number(b.label));
  if (other !== undefined) return crossTable(other, 'judgements', groups, values, classOfEntry, part, areNumbers);
  const counts = tableOf('value', ['judgements'], values, (group) => [count(group, 'judgements')], part);
  return [...(areNumbers ? numberTables(entries, other, groups, part) : []), ...counts];
}

/** Describes numbers that are too many to count by value. */
function numberTables(
  entries: readonly Entry[],
  other: Dimension | undefined,
  groups: readonly Group[],
  part: SummaryPart,
): SummaryTable[] {
  const columns = ['judgements', 'mean', 'min', 'max'];
  if (other === undefined) return [{ columns, rows: [numberCells(entries)] }];
  return withTotal(tableOf(other, columns, groups, numberCells, part), groups, numberCells);
}

function numberCells(entries: readonly Entry[]): number[] {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const entry of entries) {
    min = Math.min(min, numberOf(entry));
    max = Math.max(max, numberOf(entry));
  }
  return [count(entries, 'judgements'), meanOf(entries), min, max];
}

function meanOf(entries: readonly Entry[]): number {
  const sum = entries.reduce((sum, entry) => sum + numberOf(entry) * (entry.item.count ?? 1), 0);
  return rounded(sum / count(entries, 'judgements'), 3);
}

const numberOf = ({ judgement }: Entry): number => judgement!.value as number;

/**
 * Compares each pair of annotators on each field that at least two have judged; those with most items in common first.
 * `others` counts the pairs that are left out, `next_offset` is where the next ones begin, and `notCompared` counts the
 * annotators beyond those who judged most. A pair without a common item is left out, unless the annotators were named.
 */
export function compareAnnotators(
  judged: readonly JudgedItem[],
  { limit, offset }: SummaryPart,
  listsIds: boolean,
  areNamed = false,
): { agreement: Agreement[]; alpha: AgreementOfAll[]; others: number; next_offset?: number; notCompared: number } {
  const fields = fieldGroups(judged).map(({ label, entries }) => ({
    field: String(label),
    ...comparedAnnotators(entries, areNamed),
  }));
  const compared = fields.filter(({ pairs }) => pairs.length > 0);
  const pairsOfEach = Math.max(1, Math.floor(limit / 2 / compared.length));
  const end = offset + pairsOfEach;
  const shown = compared.flatMap(({ field, pairs }) => pairs.slice(offset, end).map((pair) => ({ field, pair })));
  const listed = listsIds ? Math.min(limit, Math.max(minDisagreements, Math.floor((3 * limit) / shown.length))) : 0;
  const agreement = shown.map(({ field, pair }) => agreementOf(field, pair, listed));
  const pairCounts = compared.map(({ pairs }) => pairs.length);
  return {
    agreement,
    alpha: compared.flatMap(({ field, valuesByItem, annotators }) =>
      annotators > 2 ? [alphaOf(field, annotators, valuesByItem)] : [],
    ),
    others: pairCounts.reduce((sum, count) => sum + count, 0) - agreement.length,
    ...(pairCounts.some((count) => count > end) && { next_offset: end }),
    notCompared: Math.max(0, ...fields.map((field) => field.notCompared)),
  };
}

interface AnnotatorPair {
  annotators: [string, string];
  /** The items that both judged, with their values as text. */
  shared: (NamedItem & { classes: ClassPair })[];
  /** The values of these texts. */
  values: Map<string, unknown>;
}

/** The annotators who have judged a field most. */
interface ComparedAnnotators {
  pairs: AnnotatorPair[];
  annotators: number;
  /** The values that they gave to each item. */
  valuesByItem: unknown[][];
  /** Number of the other annotators. */
  notCompared: number;
}

function comparedAnnotators(entries: readonly Entry[], areNamed: boolean): ComparedAnnotators {
  const groups = groupsOf(entries, 'annotator');
  const annotators = groups.slice(0, maxCompared);
  const values = new Map(entries.map(({ judgement }) => [canonicalJson(judgement!.value), judgement!.value]));
  const classes = annotators.map(
    ({ entries: own }) => new Map(own.map(({ item, judgement }) => [item, canonicalJson(judgement!.value)])),
  );
  const pairs = annotators.flatMap(({ label: first }, a) =>
    annotators.slice(a + 1).map(({ label: second }, place): AnnotatorPair => {
      const other = classes[a + 1 + place]!;
      const shared = [...classes[a]!]
        .filter(([item]) => other.has(item))
        .flatMap(([item, own]) => {
          const pair = [own, other.get(item)!] as const;
          return eachItem(item).map((each) => ({ ...each, classes: pair }));
        });
      return { annotators: [String(first), String(second)], shared, values };
    }),
  );
  pairs.sort((a, b) => b.shared.length - a.shared.length);
  const compared = annotators.flatMap((group) => group.entries);
  const entriesByItem = groupBy(compared, ({ item }) => item);
  return {
    pairs: pairs.filter(({ shared }) => areNamed || shared.length > 0),
    annotators: annotators.length,
    valuesByItem: [...entriesByItem].flatMap(([item, ofItem]) =>
      repeated(
        item,
        ofItem.map(({ judgement }) => judgement!.value),
      ),
    ),
    notCompared: groups.length - annotators.length,
  };
}

/** Returns the same for each of the items that are alike. */
function repeated<T>({ count = 1 }: SummarizedItem, ofEach: T): T[] {
  return Array.from({ length: count }, () => ofEach);
}

function alphaOf(field: string, annotators: number, valuesByItem: readonly unknown[][]): AgreementOfAll {
  const areNumbers = valuesByItem.every((values) => values.every(isNumber));
  const alpha = areNumbers
    ? alphaOfNumbers(valuesByItem as number[][])
    : alphaOfClasses(valuesByItem.map((values) => values.map(canonicalJson)));
  return {
    field,
    annotators,
    items: valuesByItem.filter(({ length }) => length > 1).length,
    ...(alpha !== undefined && { alpha: rounded(alpha, 3) }),
    distance: areNumbers ? 'interval' : 'nominal',
  };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function agreementOf(field: string, { annotators, shared, values }: AnnotatorPair, listed: number): Agreement {
  const pairs = shared.map(({ classes }) => classes);
  const items = pairs.length;
  if (items === 0) return { field, annotators, items, no_kappa: 'no item was judged by both' };
  const { classes, ...figures } = agreementFigures(pairs, maxColumns, 'both used one and the same value only');
  const numbers = pairs.map((pair) => pair.map((name) => values.get(name)) as [number, number]);
  const weighted = values.size > 2 && numbers.flat().every(isNumber) ? weightedFigures(numbers) : {};
  const differing = shared
    .filter(({ classes: [first, second] }) => first !== second)
    .sort((a, b) => a.place - b.place)
    .map(({ id }) => id);
  return {
    field,
    annotators,
    items,
    ...figures,
    ...weighted,
    classes: classes.map((name) => valueLabel(values.get(name))),
    disagreements: differing.length,
    ...(differing.length > 0 && listed > 0 && { disagreement_ids: differing.slice(0, listed) }),
  };
}

/** Returns a value as a cell: text is cut, and a list or object becomes JSON. */
function valueLabel(value: unknown): Cell {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return String(cutValue(typeof value === 'string' ? value : canonicalJson(value), maxLabelChars));
}
