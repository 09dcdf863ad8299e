import { type Expression, type SqlBool, sql } from 'kysely';
import type { SortKey } from '../../contract/sort-keys.ts';
import { nextTurn } from '../../core/turns.ts';
import { memberColumns } from '../storage/call-rows.ts';
import type { Database, SortedMember, Transaction } from '../storage/database.ts';
import type { Tables } from '../storage/database-tables.ts';
import { digestOf } from '../storage/digest.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import { ComparedRecord, type Condition, type ConditionPart, joinParts, type MemberComparison } from './condition.ts';

/** Maximum number of indexes of members, each of which is kept up with every recorded call. */
const maxIndexes = 4;

/** Time without use after which an index gives way to that of another member. */
const unusedMs = 60 * 60 * 1000;

/** True of every call. Only statements that say so may use an index of a member: an engine could prefer it to a better one. */
const ofSorted = sql<SqlBool>`memory_bytes >= 0`;

/** Names that the engines find in JSON as JavaScript does: an element of a list has another name. */
const plainName = /^[A-Za-z_][\w-]{0,63}$/;
const maxNames = 8;

/** Characters of a text that its index has. */
const maxIndexedChars = 100;

/** The index of a member of calls, whose entries are in the order of the values: numbers, then all others as text, then none. */
export interface MemberIndex {
  name: string;
  number: Expression<number | null>;
  /** See {@link MemberIndexStore}. */
  isExact: Expression<SqlBool>;
  /** The beginning of the text; absent if the values are never text. */
  text?: Expression<string | null>;
  /** The rest of the order of texts, if they begin alike. */
  wholeText?: Expression<string | null>;
  /** See {@link MemberIndexStore}. */
  ordersByNull: boolean;
}

/** Finds, creates and replaces the indexes of members by which calls are sorted or compared. */
export class MemberIndexes {
  readonly #database: Database;
  readonly #usedAt = new Map<string, number>();
  readonly #startedAt = performance.now();
  /** The names of the indexes that this process has begun to create; an attempt that failed is not repeated. */
  readonly #attempted = new Set<string>();
  #last: Promise<void> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the indexes of members in a database. */
  static of(database: Database): MemberIndexes {
    const known = indexesOf.get(database) ?? new MemberIndexes(database);
    indexesOf.set(database, known);
    return known;
  }

  /** Returns the index for a sort key; undefined for a member that none can have. */
  indexFor({ field }: Pick<SortKey, 'field'>): MemberIndex | undefined {
    const member = sortedMember(this.#database, field);
    if (!member) return undefined;
    const { number, text } = member;
    const name = `${this.#database.memberIndexes.prefix}${digestOf(`${number} ${text}`)}`;
    const texts = text && {
      text: sql.raw<string | null>(`substr(${text}, 1, ${maxIndexedChars})`),
      wholeText: sql.raw<string | null>(text),
    };
    const { isExact, ordersByNull } = this.#database.memberIndexes;
    return { name, number: sql.raw(number), isExact: isExact(sql.raw(number)), ...texts, ordersByNull };
  }

  /** Returns whether an index has the calls of a project in order. */
  async isReady(index: MemberIndex, project_id: string): Promise<boolean> {
    const { name, number } = index;
    if (!(await this.#database.memberIndexes.list()).includes(name)) return false;
    this.#usedAt.set(name, performance.now());
    const unreadable = await this.#database.read((transaction) =>
      indexedCalls(transaction, project_id)
        .where(number, 'in', [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
        .limit(1)
        .execute(),
    );
    return unreadable.length === 0;
  }

  /** Creates an index, or waits until it is created, unless there are enough that are in use or an attempt has failed. */
  async create({ name, number, text }: MemberIndex): Promise<void> {
    if (this.#attempted.has(name)) return this.#last;
    this.#attempted.add(name);
    const columns = [sql`project_id`, sql`(${number})`, ...(text ? [sql`(${text})`] : []), sql`id`, sql`started_at`];
    const definition = sql`${sql.ref('calls')} (${sql.join(columns)}) where ${ofSorted}`;
    // One after the other, so that each sees how many there are.
    this.#last = this.#last.then(() => this.#create(name, definition)).catch(() => {});
    await this.#last;
  }

  async #create(name: string, definition: Expression<unknown>): Promise<void> {
    const { memberIndexes } = this.#database;
    const names = await memberIndexes.list();
    if (names.includes(name)) return;
    if (names.length >= maxIndexes) {
      const lastUse = (other: string): number => this.#usedAt.get(other) ?? this.#startedAt;
      const [unused = ''] = names.sort((a, b) => lastUse(a) - lastUse(b));
      if (performance.now() - lastUse(unused) < unusedMs) {
        this.#attempted.delete(name);
        return;
      }
      await memberIndexes.drop(unused);
      this.#attempted.delete(unused);
    }
    await memberIndexes.create(name, definition);
  }
}

const indexesOf = new WeakMap<Database, MemberIndexes>();

/** The field of the milliseconds from the start of a call to its end. */
export const latencyField = 'summary.weave.latency_ms';

/** Number of calls of a project up to which each is read instead of creating an index. */
export const maxCallsWithoutIndex = 20_000;

/** Returns the index of a member if it has the calls of a project. It is created if many of these satisfy some conditions. */
export async function usableIndex(
  database: Database,
  project_id: string,
  field: string,
  conditions: readonly ConditionPart[] = [],
): Promise<MemberIndex | undefined> {
  const indexes = MemberIndexes.of(database);
  const index = indexes.indexFor({ field });
  if (!index || (await indexes.isReady(index, project_id))) return index;
  const isLarge = await database.read((transaction) =>
    indexedCalls(transaction, project_id)
      .where(joinParts(conditions))
      .limit(1)
      .offset(maxCallsWithoutIndex)
      .executeTakeFirst(),
  );
  if (isLarge) await indexes.create(index);
  return isLarge && (await indexes.isReady(index, project_id)) ? index : undefined;
}

/** Returns the ids of a project's calls that satisfy one of some conditions; undefined if they are more than `maxCalls`. */
export async function idsInIndex(
  database: Database,
  project_id: string,
  { number }: MemberIndex,
  conditions: readonly Expression<SqlBool>[],
  maxCalls: number,
): Promise<string[] | undefined> {
  const ids: string[] = [];
  for (const condition of conditions) {
    await nextTurn();
    const rows = await database.read((transaction) =>
      indexedCalls(transaction, project_id)
        .where(condition)
        .orderBy(number, 'desc')
        .limit(maxCalls + 1 - ids.length)
        .execute(),
    );
    for (const { id } of rows) ids.push(id);
    if (ids.length > maxCalls) return undefined;
  }
  return ids;
}

/** Engines read numbers of many digits less exactly than JavaScript does, and Node 20's package binds 2e-16 as 0. */
const relativeError = 1e-12;
const absoluteError = 1e-15;

/** A condition on the calls in an index, and whether a comparison accepts them; undefined if their values must be read. */
type Answer = [condition: Expression<SqlBool>, isAccepted: boolean | undefined];

/**
 * Returns conditions for the calls in an index that a comparison accepts, and for those whose values must be read. The test of the
 * query answers for a range of numbers by one of them, so that SQL does not repeat what JavaScript converts.
 */
export function comparedInIndex(
  index: MemberIndex,
  { path, edges, texts }: MemberComparison,
  accepts: Condition['accepts'],
): { accepted: Expression<SqlBool>[]; open: Expression<SqlBool>[] } {
  const names = path.split('.');
  const isAccepted = (value: unknown): boolean =>
    accepts(new ComparedRecord(names.reduceRight((inner, name) => ({ [name]: inner }), value as object)));
  // A number equals a text only if it is written in the same way, which no index tells.
  const exact = texts ? [] : [...new Set(edges)].filter(Number.isInteger);
  const answers = [
    ...(texts ? equalTexts(index, texts) : convertedTexts(index, isAccepted)),
    ...(texts && edges.length === 0 ? [] : numberRanges(index, edges, exact, isAccepted)),
  ];
  const of = (wanted: boolean | undefined) =>
    answers.flatMap(([condition, answer]) => (answer === wanted ? sql<SqlBool>`${ofSorted} and ${condition}` : []));
  return { accepted: of(true), open: of(undefined) };
}

/** Answers for texts that are equal to some others; of long ones, an index has the beginning only. */
function equalTexts({ number, text }: MemberIndex, texts: readonly string[]): Answer[] {
  // A character takes two units of a string at most.
  const beginnings = texts.map((whole) => [...whole.slice(0, 2 * maxIndexedChars)].slice(0, maxIndexedChars));
  const list = sql.join(beginnings.map((signs) => signs.join('')));
  const areWhole = beginnings.every(({ length }) => length < maxIndexedChars);
  return [[sql`${number} is null and ${text} in (${list})`, areWhole || undefined]];
}

/** Answers for booleans and missing values. Other texts may be numbers, or the JSON of lists and objects. */
function convertedTexts({ number, text }: MemberIndex, isAccepted: (value: unknown) => boolean): Answer[] {
  const isText = sql`${number} is null and ${text}`;
  const booleans = [true, false].map((value): Answer => {
    const answer = isAccepted(value);
    // The string has the same text.
    return [sql`${isText} = ${String(value)}`, answer === isAccepted(String(value)) ? answer : undefined];
  });
  // PostgreSQL would otherwise look at all calls without a text.
  const others: Answer = [sql`${isText} >= '' and ${text} not in ('true', 'false')`, undefined];
  return [...booleans, others, [sql`${isText} is null`, isAccepted(undefined)]];
}

/** Answers for the numbers between two edges, and for those that equal an edge if engines read them as JavaScript does. */
function numberRanges(
  { number, isExact }: MemberIndex,
  edges: readonly number[],
  exact: readonly number[],
  isAccepted: (value: unknown) => boolean,
): Answer[] {
  const answers = exact.map((edge): Answer => [sql`${number} = ${edge} and ${isExact}`, isAccepted(edge)]);
  const isElse = exact.length === 0 ? sql`true` : sql`not (${isExact} and ${number} in (${sql.join(exact)}))`;
  const errorOf = (edge: number): number => Math.max(Math.abs(edge) * relativeError, absoluteError);
  let last = -Number.MAX_VALUE;
  // No infinite number is in an index that is used.
  for (const edge of [last, ...edges.filter(Number.isFinite), Number.MAX_VALUE].sort((a, b) => a - b)) {
    const [first, end] = [edge - errorOf(edge), edge + errorOf(edge)];
    answers.push([sql`${number} between ${first} and ${end} and ${isElse}`, undefined]);
    answers.push([sql`${number} > ${last + errorOf(last)} and ${number} < ${first}`, isAccepted(last / 2 + edge / 2)]);
    last = edge;
  }
  return answers;
}

/** Columns that another index has in order. */
const inOtherIndexes: readonly string[] = ['project_id', 'id', 'op_name', 'started_at'];
const sortedColumns: readonly string[] = memberColumns.filter((column) => !inOtherIndexes.includes(column));

function sortedMember({ memberIndexes }: Database, field: string): SortedMember | undefined {
  if (field === latencyField) return { number: 'latency' };
  if (sortedColumns.includes(field)) {
    // No text comes before the empty one. Engines would leave a constant out of the order.
    return { number: `case when ${field} < '' then cast(0 as double precision) end`, text: field };
  }
  const [column = '', ...names] = field.split('.');
  const isJson = ['inputs', 'output', 'attributes', 'summary'].includes(column);
  // The service derives these from other members.
  const isDerived = column === 'summary' && names[0] === 'weave';
  const arePlain = names.length > 0 && names.length <= maxNames && names.every(isPlain);
  return isJson && !isDerived && arePlain ? memberIndexes.memberOf(column as keyof Tables['calls'], names) : undefined;
}

/** A list has a length in JavaScript only. */
const isPlain = (name: string): boolean => plainName.test(name) && name !== 'length';

/** Numbers, texts and missing values are read one after the other. */
export type Kind = 'number' | 'text' | 'none';

/** Returns the kinds of values in the order of a direction; calls without a value come last in both. */
export function kindsIn(direction: SortKey['direction'], { text }: MemberIndex): Kind[] {
  if (!text) return ['number', 'none'];
  return direction === 'asc' ? ['number', 'text', 'none'] : ['text', 'number', 'none'];
}

function indexedCalls(transaction: Transaction, project_id: string) {
  return selectInProject(transaction, 'calls', project_id).select('id').where(ofSorted);
}

/** Reads the ids of a project's calls that satisfy conditions and have values of one kind, in the order of an index. */
export async function readIndexedIds(
  transaction: Transaction,
  { number, text, wholeText, ordersByNull }: MemberIndex,
  {
    project_id,
    conditions,
    kind,
    direction,
    limit,
    offset,
  }: Pick<SortKey, 'direction'> & {
    project_id: string;
    conditions: readonly ConditionPart[];
    kind: Kind;
    limit: number;
    offset: number;
  },
): Promise<string[]> {
  const isNull = (value: Expression<unknown>) => sql<SqlBool>`${value} is null`;
  // For `is not null`, the engines would look at all calls without a value. No infinite number is in an index that is used.
  const isNumber = sql<SqlBool>`${number} >= ${-Number.MAX_VALUE}`;
  let calls = indexedCalls(transaction, project_id)
    .where(joinParts(conditions))
    .where(kind === 'number' ? isNumber : isNull(number));
  if (text && kind !== 'number') calls = calls.where(kind === 'text' ? sql<SqlBool>`${text} >= ''` : isNull(text));
  const present = { number: [number, text], text: [text], none: [] }[kind];
  for (const value of ordersByNull ? [number, text] : present) {
    if (value) calls = calls.orderBy(value, kind === 'none' ? 'asc' : direction);
  }
  if (kind === 'text') {
    // The index has short texts as a whole, so only for others the rows of the calls are read.
    const rest = sql`case when length(${text!}) = ${sql.lit(maxIndexedChars)} then ${wholeText!} end`;
    calls = calls.orderBy(rest, direction);
  }
  const rows = await calls.orderBy('id').limit(limit).offset(offset).execute();
  return rows.map(({ id }) => id);
}
