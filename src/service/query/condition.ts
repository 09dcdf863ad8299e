import { type Expression, expressionBuilder, type SqlBool, sql } from 'kysely';
import { callReference } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { ExactNumber, plainNumber } from '../../core/json/exact-number.ts';
import type { Members } from '../../core/json/json-object.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { valueText } from '../../core/json/value-text.ts';
import { microsecondsOf, normalizeTimestamp, shortTimestamp, timestampOf } from '../../core/timestamps.ts';
import type { Database, TextPattern } from '../storage/database.ts';
import { isStorableText } from '../storage/storable-text.ts';
import { maxMatchedBytes } from '../storage/text-patterns.ts';
import { includesText } from './includes-text.ts';
import { fieldAt } from './sort-records.ts';

/** Maximum number of characters of texts that are kept for one record. */
const maxKeptChars = 32 * 1024 * 1024;

/** The feedback on a call, the latest first, and the ids of the queues that hold it. */
export interface Related {
  feedback: Members[];
  queueIds: string[];
}

/** The field of a query of calls that stands for the queues which hold a call. */
export const queuePath = 'annotation_queue_items.queue_id';

/** Parses `feedback.[TYPE].PATH`, a member of the latest feedback of a type, or of any with `*`; undefined for another path. */
export function feedbackPath(path: string): { type: string; path: string } | undefined {
  const [, type, rest] = /^feedback\.\[([^\]]+)\]\.(.+)$/s.exec(path) ?? [];
  return type === undefined || rest === undefined ? undefined : { type, path: rest };
}

/** A record to compare. It keeps the texts of its values, which many operands may need. */
export class ComparedRecord {
  readonly members: Members;
  readonly #related: Related | undefined;
  readonly #texts = new Map<unknown, string>();
  readonly #lowerCases = new Map<string, string>();
  #keptChars = 0;

  constructor(members: object, related?: Related) {
    this.members = members as Members;
    this.#related = related;
  }

  /** Returns the value at a path of the record or of what belongs to it; undefined if there is none. */
  valueAt(path: string): unknown {
    if (path === queuePath) return this.#related?.queueIds;
    const member = feedbackPath(path);
    if (!member) return fieldAt(this.members, path);
    for (const feedback of this.#related?.feedback ?? []) {
      const value =
        member.type === '*' || feedback.feedback_type === member.type ? fieldAt(feedback, member.path) : undefined;
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** Returns the text of a value, as {@link valueText} does. */
  textOf(value: unknown): string {
    return typeof value === 'object' && value !== null ? this.#kept(this.#texts, value, valueText) : valueText(value);
  }

  lowerCaseOf(text: string): string {
    return this.#kept(this.#lowerCases, text, (original) => original.toLowerCase());
  }

  #kept<Key>(texts: Map<Key, string>, key: Key, make: (key: Key) => string): string {
    const known = texts.get(key);
    if (known !== undefined) return known;
    const text = make(key);
    this.#keptChars += text.length;
    if (this.#keptChars <= maxKeptChars) texts.set(key, text);
    return text;
  }
}

/** One of several conditions of the database that must all hold. */
export interface ConditionPart {
  condition: Expression<SqlBool>;
  /** The condition as a comparison or another test of one column alone; absent if it reads several, or JSON. `positive` is one that only numbers from 0 on satisfy. */
  about?: {
    column: string;
    is: 'equal' | 'one of' | 'null' | 'not null' | 'since' | 'before' | 'positive' | 'tested';
    values?: readonly string[];
  };
  /** The opposite in a form that an index can serve; the engines use none for `not (…)`. */
  opposite?: ConditionPart;
  /** Patterns of which each record that satisfies the condition fits one; absent for conditions without a text to look for. */
  patterns?: readonly TextPattern[];
  /** The field of the number that the condition compares, in whose order an index may have the records. */
  numberField?: string;
  /** Returns the SQL that selects, as `call_id`, the ids of a project's calls that satisfy the condition. */
  callIds?: (project_id: string) => Expression<unknown>;
  /**
   * Returns the SQL that selects these calls once each, or only those that started at a time or later, with copies of their columns
   * `project_id`, `id`, `op_name`, `started_at` and `latency`. Deleted calls may be among them, and the latency only has to be right where a
   * call has one from 0 on. Absent unless the condition names one queue.
   */
  copies?: (project_id: string, since?: string) => Expression<unknown>;
  /** The type of the feedback without which no call satisfies the condition; `*` stands for any. */
  feedbackType?: string;
}

/**
 * A condition on records. JavaScript decides, because the engines disagree on JSON and letter case; the database only narrows the
 * records first, and decides alone where comparing columns is exact.
 */
export interface Condition {
  /** Returns whether a record satisfies the condition. */
  accepts: (record: ComparedRecord) => boolean;
  /** Conditions for the database: every record that is accepted satisfies all of them. */
  parts: ConditionPart[];
  /** True if every record that satisfies the parts is accepted. */
  isExact: boolean;
  /** A condition that the database can test: every record that satisfies it is accepted. Others may be accepted, too. Needless if it is exact. */
  certain?: Expression<SqlBool>;
  /** The paths of the members that `accepts` reads. */
  paths: string[];
  /** Maximum number of times that `accepts` reads all characters of a record. */
  scans: number;
  /** The conditions that must all hold, if it is made of several. */
  conjuncts?: readonly Condition[];
  /** The conditions of which one must hold, if it is made of several. */
  alternatives?: readonly Condition[];
  /** The condition that must not hold, if it is made of one. */
  opposite?: Condition;
  /** The comparison that it is, if it compares one member of a JSON column. */
  comparison?: MemberComparison;
}

/** The values with which a condition compares a member. */
export interface MemberComparison {
  path: string;
  /** The numbers at which the answer may change: all numbers between two of them have the same one. */
  edges: readonly number[];
  /** The texts of which the member must have one; absent if it is converted to another type. */
  texts?: readonly string[];
}

type Narrowing = Pick<Condition, 'parts' | 'isExact' | 'certain' | 'opposite'>;

/** The columns that the database may compare in place of members of the record with the same values. */
export interface ConditionColumns {
  texts?: readonly string[];
  /** Columns with times, and how many microseconds their values are multiples of. */
  times?: Readonly<Record<string, number>>;
  /** Columns with numbers that the service derives, by their paths. */
  numbers?: Readonly<Record<string, string>>;
  /** Conditions that records with some texts satisfy, which the service derives, by their paths. */
  derived?: Readonly<Record<string, ReadonlyMap<unknown, Pick<Condition, 'parts' | 'certain'>>>>;
  /** Columns with texts of which the service derives parts, by the paths of these. */
  wholes?: Readonly<Record<string, string>>;
  /** Columns with the JSON of a member. */
  json?: readonly string[];
  /** Columns with the JSON of a member to which the service adds others. */
  extended?: readonly string[];
  /** Columns whose members below these paths are elsewhere, so that the JSON of the column does not have them. */
  elsewhere?: readonly string[];
  /** Refuses a field that the records do not have. */
  checkField?: (path: string) => void;
  /** Tells what the database holds at a path; it compares text with text only. Absent if any values can be compared. */
  kindOf?: (path: string) => 'text' | 'json' | 'other';
  /** The engine's operator for LIKE that ignores the case of ASCII letters; absent without columns of JSON. */
  caseInsensitiveLike?: Database['caseInsensitiveLike'];
}

/** Maximum number of values in one list; an engine allows 32,766 parameters in a statement. */
const maxListedValues = 1000;

/** Maximum number of alternatives; SQLite limits the depth of an expression to 1,000. */
const maxAlternatives = 500;

/** Maximum number of operands in a condition; every one is evaluated for every record. */
const maxOperands = 1000;

const eb = expressionBuilder<
  { records: { memory_bytes: number; [column: string]: string | number | null } },
  'records'
>();

/**
 * Compiles a condition in the form of a MongoDB expression: `$and`, `$or`, `$not`, `$eq`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`,
 * `$contains`, `$convert`, `$getField` and `$literal`.
 * @throws Refusal 422 for anything else, and for more than 1,000 operands.
 */
export function compileCondition(expression: unknown, columns: ConditionColumns = {}): Condition {
  const compiler = new Compiler(columns, maxOperands);
  const condition = asCondition(compiler.operand(expression));
  return { ...condition, paths: compiler.paths, scans: compiler.scans };
}

/**
 * Returns the ids that an expression names: `$eq` or `$in` of `id` and literals, or `$or` of several.
 * @throws Refusal 400 for any other expression and for more than 1,000 ids, 422 for one that is invalid.
 */
export function idsIn(expression: unknown): readonly string[] {
  const compiler = new Compiler({ texts: ['id'] }, maxListedValues * 4);
  const { parts, isExact } = asCondition(compiler.operand(expression));
  const ids = isExact && parts.length === 1 ? parts[0]!.about?.values : undefined;
  if (!ids?.length) throw new Refusal(400, 'Can only purge by one or more ids');
  return ids;
}

/** Joins parts with AND. */
export function joinParts(parts: readonly ConditionPart[]): Expression<SqlBool> {
  return eb.and(parts.map(({ condition }) => condition));
}

/** Returns a condition that the database can test and that only accepted records satisfy; undefined if none is known. */
function certainOf({ parts, isExact, certain }: Condition): Condition['certain'] {
  return isExact ? joinParts(parts) : certain;
}

/** Joins conditions with AND. */
export function allOf(conditions: readonly Condition[]): Condition {
  return {
    accepts: (record) => conditions.every(({ accepts }) => accepts(record)),
    parts: conditions.flatMap(({ parts }) => parts),
    isExact: conditions.every(({ isExact }) => isExact),
    ...(conditions.every(certainOf) && { certain: eb.and(conditions.map((condition) => certainOf(condition)!)) }),
    conjuncts: conditions.flatMap((condition) => condition.conjuncts ?? [condition]),
    ...readBy(conditions),
  };
}

/** Joins conditions with OR. */
export function anyOf(conditions: readonly Condition[]): Condition {
  const [condition, ...others] = conditions;
  if (condition && others.length === 0) return condition;
  return {
    accepts: (record) => conditions.some(({ accepts }) => accepts(record)),
    ...narrowedByAny(conditions),
    alternatives: conditions,
    ...readBy(conditions),
  };
}

/** Returns what several conditions read together. */
function readBy(conditions: readonly Condition[]): Pick<Condition, 'paths' | 'scans'> {
  return {
    paths: conditions.flatMap(({ paths }) => paths),
    scans: conditions.reduce((sum, { scans }) => sum + scans, 0),
  };
}

function narrowedByAny(conditions: readonly Condition[]): Narrowing {
  const abouts = conditions.map(({ parts }) => (parts.length === 1 ? parts[0]!.about : undefined));
  const column = abouts[0]?.column;
  // Equalities of one column are a list, which an index can serve.
  if (column !== undefined && abouts.every((about) => about?.column === column && about.values)) {
    return equality(
      column,
      abouts.flatMap((about) => about!.values!),
    );
  }
  const patterns = conditions.map(({ parts }) => parts.find((part) => part.patterns)?.patterns);
  const isNarrow = conditions.every(({ parts, isExact }) => isExact || parts.length > 0);
  if (!isNarrow || conditions.length > maxAlternatives) return unnarrowed;
  const isOfOneColumn = column !== undefined && abouts.every((about) => about?.column === column);
  const about = isOfOneColumn ? { about: { column, is: 'tested' } as const } : {};
  const areTexts = patterns.every((alternatives) => alternatives !== undefined);
  const condition = eb.or(conditions.map(({ parts }) => joinParts(parts)));
  const lists = conditions.flatMap(({ parts }) => (parts.length === 1 && parts[0]!.callIds) || []);
  const callIds = (project_id: string) =>
    sql.join(
      lists.map((list) => list(project_id)),
      sql` union all `,
    );
  const areListed = lists.length > 0 && lists.length === conditions.length;
  const certain = conditions.flatMap((some) => certainOf(some) ?? []);
  return {
    parts: [{ condition, ...about, ...(areTexts && { patterns: patterns.flat() }), ...(areListed && { callIds }) }],
    isExact: conditions.every(({ isExact }) => isExact),
    ...(certain.length > 0 && { certain: eb.or(certain) }),
  };
}

/** Returns the condition that holds where another one does not. */
export function oppositeOf(condition: Condition): Condition {
  const { accepts, parts, isExact, certain, paths, scans } = condition;
  const [part, ...others] = parts;
  // A comparison with null is null, and so would be its opposite.
  const isFalse = (some: Expression<SqlBool>) => sql<SqlBool>`not coalesce(${some}, false)`;
  const only = others.length === 0 ? part : undefined;
  const isNoPart = isFalse(joinParts(parts));
  const opposite = only?.opposite ?? { condition: isNoPart, ...(only && { opposite: only }) };
  const narrowed = certain ? [{ condition: isFalse(certain) }] : [];
  return {
    accepts: (record) => !accepts(record),
    parts: isExact ? [opposite] : narrowed,
    isExact,
    ...(!isExact && parts.length > 0 && { certain: isNoPart }),
    opposite: condition,
    paths,
    scans,
  };
}

/** A condition that reads columns only, which are short. */
const readsNothing: Pick<Condition, 'paths' | 'scans'> = { paths: [], scans: 0 };

/** Returns the condition that a column has one of some values. */
export function isOneOf(column: string, values: readonly string[]): Condition {
  const accepted = new Set<unknown>(values);
  return {
    accepts: ({ members }) => accepted.has(ownMember(members, column)),
    ...equality(column, values),
    ...readsNothing,
  };
}

/** Returns the condition that a column has no value. */
export function isNull(column: string): Condition {
  const hasValue: ConditionPart = { condition: eb(column, 'is not', null), about: { column, is: 'not null' } };
  const hasNone: ConditionPart = {
    condition: eb(column, 'is', null),
    about: { column, is: 'null' },
    opposite: hasValue,
  };
  return oppositeOf({
    accepts: ({ members }) => (ownMember(members, column) ?? null) !== null,
    ...exactly({ ...hasValue, opposite: hasNone }),
    ...readsNothing,
  });
}

/** Returns the condition that a column has one of some names, of which those that end in `:*` stand for all versions. */
export function isOneOfNames(column: string, names: readonly string[]): Condition {
  const exact = names.filter((name) => !name.endsWith(':*'));
  const prefixes = names.filter((name) => name.endsWith(':*')).map((name) => name.slice(0, -1));
  const alternatives = prefixes.map((prefix) => hasPrefix(column, prefix));
  if (exact.length > 0) alternatives.push(isOneOf(column, exact));
  const { parts, ...condition } = anyOf(alternatives);
  // An index of the column serves all the alternatives.
  const served = { column, is: 'one of' } as const;
  return {
    ...condition,
    parts: parts.map((part) => (part.about?.is === 'tested' ? { ...part, about: served } : part)),
  };
}

/** Compares with a prefix that ends in a colon; the semicolon is the next character. */
function hasPrefix(column: string, prefix: string): Condition {
  const accepts = (record: ComparedRecord): boolean =>
    record.textOf(ownMember(record.members, column)).startsWith(prefix);
  if (!isStorable(prefix)) return { accepts, ...unnarrowed, ...readsNothing };
  const condition = eb.and([eb(column, '>=', prefix), eb(column, '<', `${prefix.slice(0, -1)};`)]);
  return { accepts, ...exactly({ condition, about: { column, is: 'one of' } }), ...readsNothing };
}

/** Returns the condition that a JSON column has one of some strings, at any depth. */
export function hasStringIn(column: string, strings: readonly string[]): Condition {
  const accepted = new Set<unknown>(strings);
  const hasString = (value: unknown): boolean =>
    typeof value === 'object' && value !== null ? Object.values(value).some(hasString) : accepted.has(value);
  const patterns = strings.map((text) => patternIn(text, false)).filter((pattern) => pattern !== undefined);
  const isNarrow = patterns.length === strings.length && patterns.length <= maxPatterns;
  const condition = isLargeOr(patterns.map((pattern) => eb(column, 'like', pattern)));
  return {
    accepts: ({ members }) => hasString(ownMember(members, column)),
    parts: isNarrow
      ? [{ condition, patterns: patterns.map((pattern) => ({ column, pattern, ignoresCase: false })) }]
      : [],
    isExact: false,
    paths: [column],
    scans: 1,
  };
}

const unnarrowed: Narrowing = { parts: [], isExact: false };

function exactly(part: ConditionPart): Narrowing {
  return { parts: [part], isExact: true };
}

/** An operand of an expression: a value of a record, a constant, or a condition. */
interface Operand {
  valueIn: (record: ComparedRecord) => unknown;
  /** The paths of the members that `valueIn` reads. */
  paths: string[];
  /** The path of `$getField`. */
  path?: string;
  /** The path of the member that `$convert` converts, and the type that it makes. */
  converted?: { path: string; to: string };
  /** True if even a number is compared with a text as text. */
  isText?: boolean;
  /** The value of `$literal`. */
  literal?: unknown;
  /** The type of the feedback without which there is no value. */
  feedbackType?: string;
  condition?: Condition;
}

function asCondition({ valueIn, paths, condition }: Operand): Condition {
  return condition ?? { accepts: (record) => valueIn(record) === true, ...unnarrowed, paths, scans: 0 };
}

function asOperand(condition: Condition): Operand {
  return { valueIn: condition.accepts, paths: condition.paths, condition };
}

/** Returns what a condition on operands reads; the compiler counts the scans. */
function readByOperands(operands: readonly Operand[]): Pick<Condition, 'paths' | 'scans'> {
  return { paths: operands.flatMap(({ paths }) => paths), scans: 0 };
}

/** Tests of the result of {@link orderOf}, by operator, and the same in SQL. */
const orders = {
  $gt: { isIn: (order: number) => order > 0, sign: '>' },
  $gte: { isIn: (order: number) => order >= 0, sign: '>=' },
  $lt: { isIn: (order: number) => order < 0, sign: '<' },
  $lte: { isIn: (order: number) => order <= 0, sign: '<=' },
} as const;

class Compiler {
  /** The paths of all members that the compiled operands read. */
  readonly paths: string[] = [];
  /** Maximum number of times that the compiled operands read all characters of a record. */
  scans = 0;
  readonly #columns: Required<ConditionColumns>;
  readonly #maxOperands: number;
  #operands = 0;
  #patterns = 0;

  constructor(columns: ConditionColumns, limit: number) {
    this.#columns = {
      texts: [],
      times: {},
      numbers: {},
      derived: {},
      wholes: {},
      json: [],
      extended: [],
      elsewhere: [],
      caseInsensitiveLike: 'like',
      checkField: () => {},
      kindOf: () => 'other',
      ...columns,
    };
    this.#maxOperands = limit;
  }

  operand(expression: unknown): Operand {
    this.#operands += 1;
    if (this.#operands > this.#maxOperands) throw invalid(`more than ${this.#maxOperands} operands`);
    const [entry, ...others] = Object.entries(Object(expression) as Members);
    if (entry === undefined || others.length > 0) throw invalid('an operand is an object with one member');
    const [operator, value] = entry;
    switch (operator) {
      case '$literal':
        if (!isShort(value)) this.scans += 1;
        return { valueIn: () => value, paths: [], literal: value };
      case '$getField':
        return this.#field(value);
      case '$and':
        return asOperand(allOf(this.#list(value).map(asCondition)));
      case '$or':
        return asOperand(anyOf(this.#list(value).map(asCondition)));
      case '$not':
        return asOperand(oppositeOf(asCondition(this.#list(value, 1)[0]!)));
      case '$eq': {
        const [left, right] = this.#list(value, 2);
        return this.#membership(left!, [right!]);
      }
      case '$in': {
        if (!Array.isArray(value) || value.length !== 2) throw invalid('$in takes an operand and a list');
        return this.#membership(this.operand(value[0]), this.#list(value[1]));
      }
      case '$gt':
      case '$gte':
      case '$lt':
      case '$lte':
        return this.#order(this.#list(value, 2), operator);
      case '$contains':
        return this.#contains(value);
      case '$convert':
        return this.#conversion(value);
      default:
        throw invalid(`unknown operator ${operator}`);
    }
  }

  #list(value: unknown, length?: number): Operand[] {
    if (!Array.isArray(value) || (length !== undefined && value.length !== length)) {
      throw invalid(`expected a list${length === undefined ? '' : ` of ${length}`}`);
    }
    return value.map((operand) => this.operand(operand));
  }

  #field(path: unknown): Operand {
    if (typeof path !== 'string' || path === '') throw invalid('$getField takes the path of a member');
    this.#columns.checkField(path);
    this.paths.push(path);
    this.scans += 1;
    // Times compare as numbers: seconds since 1970, as the public service has them.
    if (timeFields.has(path)) return { path, paths: [path], valueIn: (record) => secondsOf(record.valueAt(path)) };
    const feedback = feedbackPath(path);
    return {
      path,
      paths: [path],
      valueIn: (record) => record.valueAt(path),
      isText: this.#columns.kindOf(path) === 'json',
      ...(feedback && { feedbackType: feedback.type }),
    };
  }

  #membership(operand: Operand, members: readonly Operand[]): Operand {
    for (const member of members) this.#checkComparable(operand, member);
    if (operand.path === queuePath) return asOperand(isInQueue(members.map(({ literal }) => literal)));
    const accepts = (record: ComparedRecord): boolean => {
      const value = operand.valueIn(record);
      return members.some(({ valueIn }) => {
        const [a, b] = comparablePair(value, valueIn(record), record, operand.isText);
        return a === b;
      });
    };
    const literals = members.map(({ literal }) => literal);
    const { path = '', feedbackType } = operand;
    const needsFeedback = feedbackType !== undefined && literals.every((literal) => (literal ?? null) !== null);
    return asOperand({
      accepts,
      ...(needsFeedback ? hasFeedback(feedbackType) : this.#equality(path, literals)),
      ...this.#comparison(operand, literals),
      ...readByOperands([operand, ...members]),
    });
  }

  /** @throws Refusal 400 for a comparison of text with another type, as the public service does. */
  #checkComparable(left: Operand, right: Operand): void {
    for (const [{ path }, { literal }] of [
      [left, right],
      [right, left],
    ] as const) {
      if (path === undefined || literal === undefined || typeof literal === 'string') continue;
      const kind = this.#columns.kindOf(path);
      if (kind === 'json' || (kind === 'text' && literal !== null)) throw notComparable(path, literal);
    }
  }

  #equality(path: string, values: readonly unknown[]): Narrowing {
    const { texts, times } = this.#columns;
    const isText = texts.includes(path);
    if (values.length === 1 && values[0] === null && (isText || Object.hasOwn(times, path))) {
      const { parts, isExact, opposite } = isNull(path);
      return { parts, isExact, ...(opposite && { opposite }) };
    }
    if (isText) return equality(path, values);
    const derived = ownMember(this.#columns.derived, path)?.get(values[0]);
    if (derived && values.length === 1) {
      const { parts, certain } = derived;
      return { parts, isExact: false, ...(certain && { certain }) };
    }
    const whole = ownMember(this.#columns.wholes, path);
    if (whole !== undefined) {
      const parts = values.map((value) => joinParts(this.#containment({ path }, value, false).parts));
      return { parts: [{ condition: eb.or(parts), about: { column: whole, is: 'tested' } }], isExact: false };
    }
    const column = this.#jsonColumnOf(path);
    // The JSON of a value contains each text in it.
    const pattern = column && values.length === 1 ? this.#patternIn(values[0], false) : undefined;
    if (!column || !pattern) return unnarrowed;
    const condition = isLargeOr([eb(column, 'like', pattern)]);
    return { parts: [{ condition, patterns: [{ column, pattern, ignoresCase: false }] }], isExact: false };
  }

  /** Returns the comparison of a member with texts, or of a converted one with values of its new type. */
  #comparison(
    { path: field = '', converted = { path: field, to: 'string' } }: Operand,
    literals: readonly unknown[],
  ): Pick<Condition, 'comparison'> {
    const { path, to } = converted;
    const edges = literals.map((literal) => edgesOf.get(to)?.(plainNumber(literal)));
    const { json, extended } = this.#columns;
    const isMember = this.#jsonColumnOf(path, [...json, ...extended]) !== undefined;
    if (edges.length === 0 || edges.includes(undefined) || !isMember) return {};
    const texts = to === 'string' ? { texts: literals as string[] } : {};
    return { comparison: { path, edges: edges.flatMap((some) => some!), ...texts } };
  }

  /** Does the same as {@link patternIn}, but for no more than so many patterns that a statement does not take long. */
  #patternIn(text: unknown, ignoresCase: boolean): string | undefined {
    if (this.#patterns === maxPatterns) return undefined;
    const pattern = patternIn(text, ignoresCase);
    if (pattern !== undefined) this.#patterns += 1;
    return pattern;
  }

  #order([left, right]: Operand[], operator: keyof typeof orders): Operand {
    this.#checkComparable(left!, right!);
    const { isIn, sign } = orders[operator];
    const accepts = (record: ComparedRecord): boolean =>
      isIn(orderOf(...comparablePair(left!.valueIn(record), right!.valueIn(record), record, left!.isText)));
    const { path = '', feedbackType } = left!;
    // The first time that is too late for $lt and $lte, or late enough for the others.
    const isAfter = operator === '$gt' || operator === '$lte';
    const first = firstTime(right!.literal, isAfter, ownMember(this.#columns.times, path));
    const ofTime = operator === '$lt' || operator === '$lte' ? before : since;
    const narrowing = first === undefined ? this.#numberOrder(path, sign, right!.literal) : ofTime(path, first);
    return asOperand({
      accepts,
      ...(feedbackType === undefined ? narrowing : hasFeedback(feedbackType)),
      ...(typeof right!.literal !== 'string' && this.#comparison(left!, [right!.literal])),
      ...readByOperands([left!, right!]),
    });
  }

  #numberOrder(path: string, sign: '>' | '>=' | '<' | '<=', literal: unknown): Narrowing {
    const column = ownMember(this.#columns.numbers, path);
    if (column === undefined || typeof literal !== 'number') return unnarrowed;
    const condition = eb(column, sign, literal);
    const is = sign.startsWith('>') && literal >= 0 ? 'positive' : 'tested';
    return exactly({ condition, about: { column, is }, numberField: path });
  }

  #contains(value: unknown): Operand {
    const { input, substr, case_insensitive } = Object(value) as Members;
    const whole = this.operand(input);
    const part = this.operand(substr);
    const ignoresCase = case_insensitive === true;
    this.scans += 1;
    const textIn = ({ valueIn }: Operand, record: ComparedRecord): string => {
      const text = record.textOf(valueIn(record));
      return ignoresCase ? record.lowerCaseOf(text) : text;
    };
    const literal = part.literal === undefined ? undefined : textIn(part, new ComparedRecord({}));
    const accepts = (record: ComparedRecord): boolean =>
      includesText(textIn(whole, record), literal ?? textIn(part, record));
    return asOperand({
      accepts,
      ...this.#containment(whole, part.literal, ignoresCase),
      ...readByOperands([whole, part]),
    });
  }

  #containment(
    { path = '', feedbackType }: Pick<Operand, 'path' | 'feedbackType'>,
    text: unknown,
    ignoresCase: boolean,
  ): Narrowing {
    if (!isStorable(text) || text === '') return unnarrowed;
    if (feedbackType !== undefined) return hasFeedback(feedbackType);
    const textColumn = ownMember(this.#columns.wholes, path) ?? (this.#columns.texts.includes(path) ? path : undefined);
    const column = textColumn ?? this.#jsonColumnOf(path);
    const pattern = column && this.#patternIn(text, ignoresCase);
    if (!pattern) return unnarrowed;
    const like = ignoresCase ? this.#columns.caseInsensitiveLike : 'like';
    const matches = eb(column, like, pattern);
    if (textColumn !== undefined) {
      const condition = eb.or([eb(eb.fn('length', [column]), '>', maxMatchedChars), matches]);
      return { parts: [{ condition, about: { column, is: 'tested' } }], isExact: false };
    }
    // A missing value counts as an empty object, which is shorter than what an index of text can find.
    const condition = isLargeOr([matches, eb(column, 'is', null)]);
    const certain = column === path && certainlyContains(column, text, ignoresCase);
    return {
      parts: [{ condition, patterns: [{ column, pattern, ignoresCase }] }],
      isExact: false,
      ...(certain && { certain }),
    };
  }

  #conversion(value: unknown): Operand {
    const { input, to } = Object(value) as Members;
    const convert = typeof to === 'string' ? conversions.get(to) : undefined;
    if (!convert) throw invalid(`$convert to ${JSON.stringify(to)}`);
    const operand = this.operand(input);
    if (operand.literal !== undefined) {
      const literal = convert(operand.literal, new ComparedRecord({}));
      return { valueIn: () => literal, paths: [], literal };
    }
    this.scans += 1;
    const { path, feedbackType, paths } = operand;
    const isNumber = to === 'double' || to === 'int';
    const valueIn = (record: ComparedRecord): unknown => convert(operand.valueIn(record), record);
    const converted = path === undefined ? {} : { converted: { path, to: to as string } };
    return { valueIn, paths, ...converted, ...(isNumber && feedbackType !== undefined && { feedbackType }) };
  }

  /** Returns the column with the JSON of the value at a path, or of the value that contains it. */
  #jsonColumnOf(path: string, columns = this.#columns.json): string | undefined {
    const { elsewhere } = this.#columns;
    if (elsewhere.some((prefix) => path === prefix || path.startsWith(`${prefix}.`) || prefix.startsWith(`${path}.`)))
      return undefined;
    return columns.find((column) => column === path.split('.', 1)[0]);
  }
}

function equality(column: string, values: readonly unknown[]): Narrowing {
  if (values.length > maxListedValues || !values.every(isStorable)) return unnarrowed;
  const [value, ...others] = values;
  if (value === undefined) return exactly({ condition: sql`false`, about: { column, is: 'one of', values: [] } });
  if (others.length > 0)
    return exactly({ condition: eb(column, 'in', values), about: { column, is: 'one of', values } });
  return exactly({ condition: eb(column, '=', value!), about: { column, is: 'equal', values } });
}

/** Returns the condition that a call is in one of some queues. */
function isInQueue(queueIds: readonly unknown[]): Condition {
  const ids = queueIds.filter(isStorable);
  const items = sql`
    from queue_items inner join queues on queues.project_id = queue_items.project_id and queues.id = queue_items.queue_id
    where queue_items.queue_id in (${ids.length > 0 ? sql.join(ids) : sql`''`})
    and queue_items.deleted_at is null and queues.deleted_at is null and queue_items.project_id =`;
  const condition = sql<SqlBool>`exists (select 1 ${items} calls.project_id and queue_items.call_id = calls.id)`;
  const callIds = (project_id: string) => sql`select queue_items.call_id ${items} ${project_id}`;
  // With the last condition, SQLite takes an index that has all these columns but the id.
  const copies = (project_id: string, since = '') => sql`
    select queue_items.project_id, call_id as id, call_op_name as op_name, call_started_at as started_at, queue_items.latency
    ${items} ${project_id} and call_started_at >= ${since}`;
  const accepts = (record: ComparedRecord): boolean =>
    [record.valueAt(queuePath)].flat().some((id) => ids.includes(id as string));
  return {
    accepts,
    ...exactly({ condition, callIds, ...(ids.length === 1 && { copies }) }),
    ...(ids.length > 1 && { alternatives: ids.map((id) => isInQueue([id])) }),
    paths: [queuePath],
    scans: 0,
  };
}

/** Narrows calls to those with feedback of a type; `*` stands for any. */
function hasFeedback(type: string): Narrowing {
  if (!isStorable(type)) return unnarrowed;
  const ofType = type === '*' ? sql`` : sql`and feedback_type = ${type}`;
  const reference = sql`'weave:///' || calls.project_id || '/call/' || calls.id`;
  const condition = sql<SqlBool>`exists (
    select 1 from feedback where feedback.project_id = calls.project_id and weave_ref = ${reference} ${ofType}
  )`;
  const callIds = (project_id: string) => {
    const prefix = callReference(project_id, '');
    return sql`
      select substr(weave_ref, length(${prefix}) + 1) as call_id from feedback
      where project_id = ${project_id} and weave_ref > ${prefix} and weave_ref < ${`${prefix.slice(0, -1)}0`} ${ofType}`;
  };
  return { parts: [{ condition, callIds, feedbackType: type }], isExact: false };
}

function since(column: string, first: string): Narrowing {
  return ofTime(column, sinceTime(column, first), beforeTime(column, first));
}

function before(column: string, first: string): Narrowing {
  return ofTime(column, beforeTime(column, first), sinceTime(column, first));
}

function ofTime(column: string, part: ConditionPart, opposite: ConditionPart): Narrowing {
  // Only the end of a call may be missing, and no index has it.
  return exactly(column === 'ended_at' ? { condition: part.condition } : { ...part, opposite });
}

function sinceTime(column: string, first: string): ConditionPart {
  return { condition: eb(column, '>=', first), about: { column, is: 'since' } };
}

function beforeTime(column: string, first: string): ConditionPart {
  return { condition: eb(column, '<', first), about: { column, is: 'before' } };
}

/** Returns whether the engines take a value as text. */
function isStorable(value: unknown): value is string {
  return typeof value === 'string' && isStorableText(value);
}

/** Maximum number of patterns in a statement, during which SQLite lets nothing else run. */
const maxPatterns = 8;

/** Maximum number of characters of a text that a pattern is compared with in a statement. */
const maxMatchedChars = maxMatchedBytes / 4;

/** Returns the condition that one of some comparisons holds, or that the record is so large that the statement leaves them open. */
function isLargeOr(comparisons: readonly Expression<SqlBool>[]): Expression<SqlBool> {
  return eb.or([eb('memory_bytes', '>', maxMatchedBytes), ...comparisons]);
}

/** Characters of a text that a pattern has; comparing more of them takes longer and finds hardly less. */
const maxPatternChars = 64;

/**
 * Returns a LIKE pattern that matches the JSON of every value whose text contains a text; undefined if it would match any.
 * @param ignoresCase true to ignore the case of ASCII letters, as each engine does.
 */
function patternIn(text: unknown, ignoresCase: boolean): string | undefined {
  if (!isStorable(text)) return undefined;
  const signs = [...text.slice(0, maxPatternChars).toWellFormed()].map((sign) => {
    // JSON may escape these. Letters beyond ASCII have the case that an engine does not know.
    if (sign < ' ' || '"\\\ufffd'.includes(sign) || (ignoresCase && sign > '~')) return '%';
    // The wildcards of a pattern, and the letters that are also the lower case of a letter beyond ASCII.
    return sign === '%' || sign === '_' || (ignoresCase && /[ik]/i.test(sign)) ? '_' : sign;
  });
  const pattern = `%${signs.join('')}%`;
  return /[^%_]/.test(pattern) ? pattern.replaceAll(/%+/g, '%') : undefined;
}

/** Texts of characters that JSON never escapes, and that are stored after the space with which some JSON begins. */
const plainText = /^[!#-[\]-~][ !#-[\]-~]*$/;

/** Returns a condition of which each record has a text in the value of a JSON column; undefined for a text that SQL may not find as JavaScript does. */
function certainlyContains(column: string, text: string, ignoresCase: boolean): Expression<SqlBool> | undefined {
  if (text.length > maxPatternChars || !plainText.test(text)) return undefined;
  const json = sql.ref(column);
  // PostgreSQL may take the lower case of this letter for an i.
  const whole = ignoresCase ? sql`lower(replace(${json}, 'İ', '"'))` : json;
  const part = ignoresCase ? text.toLowerCase() : text;
  // The text of null is empty, and that of a string has other characters than its JSON if that has a backslash.
  return sql`(
    memory_bytes <= ${sql.lit(maxMatchedBytes)} and ${json} <> 'null'
    and (substr(${json}, 1, 1) <> '"' or replace(${json}, '\\', '') = ${json})
    and replace(${whole}, ${part}, '') <> ${whole})`;
}

/** Stored times have the years 0 to 9999, of which numbers hold the microseconds up to 2255. */
const firstStorable = -Number.MAX_SAFE_INTEGER;
const lastStorable = Number.MAX_SAFE_INTEGER;

/** Returns the first stored time that is not before seconds since 1970 or a time, or after it. */
function firstTime(value: unknown, isStrict: boolean, unit: number | undefined): string | undefined {
  const seconds = secondsOf(value) ?? plainNumber(value);
  if (typeof seconds !== 'number' || unit === undefined) return undefined;
  let microseconds = (Math.floor((seconds * 1e6) / unit) - 1) * unit;
  if (!(microseconds >= firstStorable && microseconds < lastStorable)) return undefined;
  while (isStrict ? microseconds / 1e6 <= seconds : microseconds / 1e6 < seconds) microseconds += unit;
  return unit === 1 ? timestampOf(microseconds) : shortTimestamp(timestampOf(microseconds));
}

const conversions = new Map<string, (value: unknown, record: ComparedRecord) => unknown>([
  ['double', (value) => asNumber(value)],
  [
    'int',
    (value) => {
      const number = asNumber(value);
      return number === undefined ? undefined : Math.trunc(number);
    },
  ],
  ['string', (value, record) => record.textOf(value)],
  ['bool', (value) => (typeof value === 'string' ? value === 'true' : Boolean(plainNumber(value)))],
  ['exists', (value) => value !== undefined && value !== null],
]);

/** Return the edges of a {@link MemberComparison} with a literal, by the type that is compared; undefined for another type. */
const edgesOf = new Map<string, (literal: unknown) => number[] | undefined>([
  ['string', (text) => (isStorable(text) ? (/^-?\d/.test(text) ? [Number(text)] : []) : undefined)],
  ['double', (value) => (typeof value === 'number' ? [value] : undefined)],
  ['int', (value) => (typeof value === 'number' ? [-1, 0, 1].map((more) => Math.floor(value) + more) : undefined)],
  ['bool', (value) => (typeof value === 'boolean' ? [0] : undefined)],
]);

const timeFields = new Set(['started_at', 'ended_at', 'deleted_at', 'created_at']);

/** Converts two values for a comparison, as the public service does: by the type of the second one. */
function comparablePair(first: unknown, second: unknown, record: ComparedRecord, isText = false): [unknown, unknown] {
  const areLarge = isLargeInteger(first) && isLargeInteger(second);
  const [a, b] = areLarge ? [BigInt(String(first)), BigInt(String(second))] : [plainNumber(first), plainNumber(second)];
  if (typeof a === 'number' && typeof b === 'string' && !isText) return [a, secondsOf(b) ?? asNumber(b)];
  if (typeof b === 'number') return [asNumber(a), b];
  if (typeof b === 'string' && a !== undefined && a !== null) return [record.textOf(first), b];
  return [a ?? null, b ?? null];
}

/** Returns 1, 0 or -1 for two numbers or two strings, and NaN for values that have no order. */
function orderOf(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return Math.sign(a - b);
  if ((typeof a === 'string' && typeof b === 'string') || (typeof a === 'bigint' && typeof b === 'bigint')) {
    return a === b ? 0 : a > b ? 1 : -1;
  }
  return Number.NaN;
}

/** Returns whether a value is an integer that JavaScript would round; the length keeps comparing it short. */
function isLargeInteger(value: unknown): boolean {
  return value instanceof ExactNumber && /^-?\d{1,100}$/.test(String(value));
}

/** Maximum number of characters of a text that is compared as a number. */
const maxNumberChars = 1000;

/** Returns whether comparing a literal takes next to no time. */
function isShort(literal: unknown): boolean {
  return typeof literal === 'string' ? literal.length <= maxNumberChars : typeof literal !== 'object';
}

function asNumber(written: unknown): number | undefined {
  const value = plainNumber(written);
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string' || value.length > maxNumberChars || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}

function secondsOf(value: unknown): number | undefined {
  const utc = typeof value === 'string' ? normalizeTimestamp(value) : undefined;
  return utc === undefined ? undefined : microsecondsOf(utc) / 1e6;
}

function notComparable(path: string, literal: unknown): Refusal {
  const remedy =
    literal === null
      ? 'null compares with no value in JSON; $convert to exists tells whether there is one'
      : `{"$convert":{"input":{"$getField":${JSON.stringify(path)}},"to":"${typeof literal === 'boolean' ? 'bool' : 'double'}"}} can be compared`;
  return new Refusal(400, `No common type between ${path} and ${JSON.stringify(literal)}: ${remedy}`);
}

function invalid(reason: string): Refusal {
  const msg = `Invalid query: ${reason}`;
  return new Refusal(422, msg, { body: { detail: [{ loc: ['body', 'query', '$expr'], msg, type: 'value_error' }] } });
}
