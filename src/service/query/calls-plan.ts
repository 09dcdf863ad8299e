import { type SqlBool, sql } from 'kysely';
import type { RecordedCall } from '../../contract/calls.ts';
import type { BodyOf } from '../../contract/endpoints.ts';
import type { RequestBudget } from '../request-budget.ts';
import { memberColumns } from '../storage/call-rows.ts';
import type { Database, ProjectFilter, Transaction } from '../storage/database.ts';
import { callFields } from './call-fields.ts';
import { filterCondition } from './calls-filter.ts';
import {
  allOf,
  ComparedRecord,
  type Condition,
  type ConditionColumns,
  type ConditionPart,
  compileCondition,
  feedbackPath,
  isNull,
  isOneOf,
  joinParts,
  oppositeOf,
} from './condition.ts';
import { referenceExpander } from './expand-references.ts';
import { comparedInIndex, idsInIndex, latencyField, usableIndex } from './member-order.ts';
import { hasMuchFeedback, type RelatedValues, readFeedbackByCall, relatedValues } from './related-values.ts';

/** The part of a query that selects calls. */
export type CallsSelection = Pick<BodyOf<'queryCalls'>, 'project_id' | 'filter' | 'query' | 'expand_columns'>;

/** The evaluation of a selection: conditions for the database, and a test for what they leave open. */
export interface CallsPlan {
  project_id: string;
  /** All conditions, before any is replaced. */
  conditions: readonly Condition[];
  /** The conditions that the database applies. */
  parts: ConditionPart[];
  /** The only calls that can match, a list that the database need not look for; undefined if there is none. */
  ids?: readonly string[] | undefined;
  /** The conditions that the parts leave open. */
  tests: readonly Condition[];
  /** Tests what the conditions leave open; undefined if they leave nothing open. */
  accepts: ((call: ComparedRecord) => boolean) | undefined;
  /** A condition that the database can test: the tests accept every call that satisfies it. */
  certain: Condition['certain'];
  /** The paths that the tests read. */
  paths: string[];
  /** The members that the calls are sorted by. */
  sortFields: readonly string[];
  /** Maximum number of times that the tests read all characters of a call. */
  scans: number;
  /** Reads what conditions and sort keys need beside the calls; undefined if that is nothing. */
  related: RelatedValues | undefined;
  /** Replaces the references that conditions and sort keys look behind; undefined if there are none. */
  expand: ((call: RecordedCall) => Promise<void>) | undefined;
  budget: RequestBudget;
  /** True if an index finds so few calls that sorting them takes no time. */
  isSmall?: boolean;
}

export const timeColumns = ['started_at', 'ended_at'];
const textColumns = memberColumns.filter((column) => !timeColumns.includes(column));

const hasNotFailed = [
  ...oppositeOf(isNull('ended_at')).parts,
  { condition: sql<SqlBool>`coalesce(exception, '') = ''` },
];

/** Conditions that calls with some statuses satisfy. */
const statusConditions: Required<ConditionColumns>['derived'] = {
  'summary.weave.status': new Map<unknown, Pick<Condition, 'parts' | 'certain'>>([
    ['running', isNull('ended_at')],
    ['error', oppositeOf(isNull('exception'))],
    [
      'success',
      {
        parts: hasNotFailed,
        // Without a number of errors but 0, no call below has failed.
        certain: sql`(${joinParts(hasNotFailed)} and coalesce(summary, '{') like '{%'
          and replace(replace(coalesce(summary, ''), '"error":0}', ''), '"error":0,', '') not like '%"error":%')`,
      },
    ],
  ]),
};

/** Plans how to find the calls of a selection. @throws Refusal 422 for a query that cannot be evaluated. */
export function planCalls(
  database: Database,
  { project_id, filter, query, expand_columns }: CallsSelection,
  { budget, maySee = () => false, sortFields = [] }: QueryAccess & { sortFields?: readonly string[] },
): CallsPlan {
  const columns = {
    texts: textColumns,
    times: { started_at: 1, ended_at: 1 },
    numbers: { [latencyField]: 'latency' },
    derived: expand_columns?.length ? {} : statusConditions,
    wholes: { 'summary.weave.trace_name': 'op_name' },
    json: ['inputs', 'output', 'attributes'],
    extended: ['summary'],
    elsewhere: expand_columns ?? [],
    caseInsensitiveLike: database.caseInsensitiveLike,
    ...callFields,
  };
  const conditions = [isOneOf('project_id', [project_id]), filterCondition(filter ?? {})];
  if (query) conditions.push(compileCondition(query.$expr, columns));
  const { paths, scans } = allOf(conditions.filter(({ isExact }) => !isExact));
  const fields = [...paths, ...sortFields];
  const expanded = (expand_columns ?? []).filter((column) => fields.some((field) => field.startsWith(`${column}.`)));
  const expand = referenceExpander(database, maySee, budget, Number.MAX_SAFE_INTEGER);
  const plan = {
    project_id,
    sortFields,
    scans,
    expand: expanded.length === 0 ? undefined : (call: RecordedCall) => expand([call], expanded),
    budget,
  };
  return withConditions(database, plan, conditions);
}

/** Returns a plan with other conditions. */
export function withConditions(
  database: Database,
  plan: Omit<CallsPlan, 'conditions' | 'parts' | 'tests' | 'accepts' | 'certain' | 'paths' | 'related'>,
  all: readonly Condition[],
): CallsPlan {
  const { parts, conjuncts: conditions = [] } = allOf(all);
  const tests = conditions.filter(({ isExact }) => !isExact);
  return { ...plan, conditions, parts, ...testedBy(database, plan, tests) };
}

/** Returns the members of a plan that depend on its tests. */
function testedBy(
  database: Database,
  { project_id, sortFields, budget }: Pick<CallsPlan, 'project_id' | 'sortFields' | 'budget'>,
  tests: readonly Condition[],
): Pick<CallsPlan, 'tests' | 'accepts' | 'certain' | 'paths' | 'related'> {
  const { accepts, certain, paths } = allOf(tests);
  const related = relatedValues(database, project_id, [...paths, ...sortFields], budget);
  if (tests.length === 0) return { tests, accepts: undefined, certain: undefined, paths, related };
  return { tests, accepts, certain, paths, related };
}

/** The projects and the budget of a request. */
export interface QueryAccess {
  /** Checks the projects that expanded references lead to; without it, none is expanded. */
  maySee?: ProjectFilter;
  budget: RequestBudget;
}

export const readsNameOnly = ({ paths }: Condition): boolean =>
  paths.length > 0 && paths.every((path) => path === 'op_name');

/** The conditions on columns that an index serves. */
const indexed = new Map<string, readonly string[]>([
  ['project_id', ['equal']],
  ['id', ['equal', 'one of']],
  ['op_name', ['equal', 'one of']],
  ['trace_id', ['equal', 'one of']],
  ['parent_id', ['equal', 'one of', 'null']],
  ['thread_id', ['equal', 'one of']],
  ['started_at', ['since', 'before']],
  ['exception', ['not null']],
  // Any member of which there is an index.
  ['a member', ['equal']],
]);

export function hasIndex({ about }: ConditionPart): boolean {
  return about !== undefined && indexed.get(about.column)?.includes(about.is) === true;
}

/** Returns whether an index has the calls of a condition in order of start. Those of several operations are in another order. */
export function isInOrderOfStart(part: ConditionPart): boolean {
  return hasIndex(part) && !(part.about?.column === 'op_name' && part.about.is === 'one of');
}

/** Returns whether a condition has no index, so that the database tests one call after the other. */
export const needsScan = ({ parts }: CallsPlan): boolean => !parts.every(hasIndex);

export const isById = ({ parts, ids }: CallsPlan): boolean =>
  ids !== undefined || parts.some((part) => part.about?.column === 'id' && hasIndex(part));

/** Maximum number of names of operations that are tested by themselves, and of the characters of each. */
const maxTestedNames = 1000;
const maxNameChars = 1000;
/** Maximum number of calls of several operations that are sorted by start. */
const maxSmall = 5000;
/** Maximum number of calls with some text, and of feedback of a type, that are listed before the calls are read. */
export const maxListed = 200_000;
/** The same of calls in some queues, of which more are faster found one range of starts after the other. */
const maxListedInQueues = 50_000;

/** Plans of which each finds other calls; those of a page have one plan. */
type Plans = [CallsPlan, ...CallsPlan[]];

/** Replaces conditions whose calls the database would look for one by one by lists, unless these are too long. */
export async function narrowPlan(database: Database, plan: CallsPlan, purpose: 'page' | 'count'): Promise<Plans> {
  const named = plan.parts.find(({ about }) => about?.column === 'id' && about.is === 'one of');
  if (named && needsScan(plan)) {
    // With the limits of a range, an engine might search all calls that started in it instead of these.
    return [withIds({ ...plan, parts: plan.parts.filter((part) => part !== named) }, named.about!.values!)];
  }
  if (isById(plan)) return [plan];
  if (purpose === 'count' && queuesOf(plan).length === 1) {
    const byOperation = await withOperations(database, plan, purpose);
    if (byOperation.ids || copiesOf(byOperation)) return [byOperation];
  }
  const listed = (await withFeedback(database, plan)) ?? (await withQueues(database, plan));
  if (listed) return [listed];
  const bounded = await withBounds(database, plan);
  const few = await withFew(database, bounded);
  if (few) return [few];
  const isList = ({ about }: ConditionPart): boolean => about?.is === 'one of' && about.column !== 'op_name';
  const list = bounded.parts.find((part) => isList(part) && hasIndex(part));
  // Engines would look for the calls of several traces among all, in the order of start.
  if (list && purpose === 'page') return [{ ...bounded, isSmall: await findsFew(database, plan.project_id, list) }];
  return (await withMember(database, bounded, purpose)) ?? [await withOperations(database, bounded, purpose)];
}

/** Replaces conditions on the feedback of one type by the ids of the calls that satisfy them; undefined without one, or if there is much feedback. */
async function withFeedback(database: Database, plan: CallsPlan): Promise<CallsPlan | undefined> {
  const { project_id, budget, tests, scans } = plan;
  const type = tests.map(feedbackTypeOf).find((read) => read !== undefined);
  if (type === undefined || (await hasMuchFeedback(database, project_id, type, maxListed))) return undefined;
  const replaced = tests.filter((test) => feedbackTypeOf(test) === type);
  const { accepts, parts, paths } = allOf(replaced);
  const ids: string[] = [];
  for await (const calls of readFeedbackByCall(database, { project_id, type, paths }, budget)) {
    for (const { call_id, record, bytes } of calls) {
      await budget.scan(bytes, scans);
      if (accepts(record)) ids.push(call_id);
    }
  }
  const rest = tests.filter((test) => !replaced.includes(test));
  const others = plan.parts.filter((part) => !parts.includes(part));
  return withIds({ ...plan, ...testedBy(database, plan, rest), parts: others }, ids);
}

/** Returns whether a condition compares a column of which the items of queues have copies. */
export const isCopied = ({ about }: ConditionPart): boolean =>
  ['project_id', 'op_name', 'started_at'].includes(about?.column ?? '');

/** Returns the conditions that each name one queue. */
export const queuesOf = ({ parts }: CallsPlan): ConditionPart[] => parts.filter(({ copies }) => copies);

/** Returns the condition on a queue whose copies have all that the other conditions of a plan compare; undefined without one. */
export function copiesOf({ parts, accepts, ids }: CallsPlan): ConditionPart | undefined {
  const [part, ...others] = parts.filter((other) => other.about?.is !== 'positive' && !isCopied(other));
  return part?.copies && others.length === 0 && !accepts && !ids ? part : undefined;
}

/** Returns the type of the feedback that a test reads, if it reads nothing else and accepts no call without it. */
function feedbackTypeOf({ parts, paths }: Condition): string | undefined {
  const type = parts.find(({ feedbackType }) => feedbackType !== undefined)?.feedbackType;
  return type !== undefined && paths.every((path) => feedbackPath(path)?.type === type) ? type : undefined;
}

/** Replaces a condition on the queues of calls by the ids of these calls; undefined without one, or if they are many. */
async function withQueues(database: Database, plan: CallsPlan): Promise<CallsPlan | undefined> {
  const { project_id, parts } = plan;
  for (const part of parts) {
    if (!part.callIds) continue;
    const related = sql<{ call_id: string }>`${part.callIds(project_id)}`;
    const listed = (part.copies ?? part.callIds)(project_id);
    const next = sql`select 1 from (${listed}) as listed limit 1 offset ${sql.lit(maxListedInQueues)}`;
    const found = await database.read(async (transaction) =>
      (await next.execute(transaction)).rows.length > 0 ? undefined : related.execute(transaction),
    );
    if (!found) continue;
    const ids = found.rows.map(({ call_id }) => call_id);
    return withIds({ ...plan, parts: parts.filter((other) => other !== part) }, ids);
  }
  return undefined;
}

/** Adds the first and the last start of the calls of a large queue, so that no others are searched for them. */
async function withBounds(database: Database, plan: CallsPlan): Promise<CallsPlan> {
  const copies = plan.parts.find((part) => part.copies)?.copies?.(plan.project_id);
  if (!copies) return plan;
  const start = (order: string) =>
    sql`(select started_at from (${copies}) as calls order by started_at ${sql.raw(order)} limit 1)`;
  const bounds = sql<{ first: string; last: string }>`select ${start('asc')} as first, ${start('desc')} as last`;
  const { first, last } = (await database.read((transaction) => bounds.execute(transaction))).rows[0]!;
  const column = 'started_at';
  const since: ConditionPart = { condition: sql`started_at >= ${first}`, about: { column, is: 'since' } };
  const before: ConditionPart = { condition: sql`started_at <= ${last}`, about: { column, is: 'before' } };
  return { ...plan, parts: [...plan.parts, since, before] };
}

/** Adds the ids of the calls that the index of texts or of a number finds for a comparison; undefined without one, or if they are many. */
async function withFew(database: Database, plan: CallsPlan): Promise<CallsPlan | undefined> {
  const { project_id, parts } = plan;
  for (const part of parts) {
    // Another index may find fewer calls than that of a number.
    const field = isServedByOperations(plan) && part.numberField;
    const index = field ? await usableIndex(database, project_id, field) : undefined;
    const ids =
      (part.patterns && (await database.textIndex.find(project_id, part.patterns, maxSmall))) ??
      (index && (await idsInIndex(database, project_id, index, [part.condition], maxSmall)));
    if (ids) return withIds({ ...plan, parts: parts.filter((other) => other !== part) }, ids);
  }
  return undefined;
}

/** Replaces the comparison of a member by the calls that its index finds; undefined without one, or if a page needs few of many calls. */
async function withMember(database: Database, plan: CallsPlan, purpose: 'page' | 'count'): Promise<Plans | undefined> {
  const { project_id, tests, parts } = plan;
  for (const test of isServedByOperations(plan) ? tests : []) {
    const { comparison } = test;
    const index = comparison && (await usableIndex(database, project_id, comparison.path, parts.filter(hasIndex)));
    if (!index) continue;
    const { accepted, open } = comparedInIndex(index, comparison, test.accepts);
    const maxCalls = purpose === 'count' ? maxListed : maxSmall;
    const toTest = await idsInIndex(database, project_id, index, open, maxCalls);
    if (!toTest) continue;
    const rest = tests.filter((other) => other !== test);
    const others = parts.filter((part) => !test.parts.includes(part));
    const narrowed = { ...plan, ...testedBy(database, plan, rest), parts: others };
    const counted = purpose === 'count' ? await withOperations(database, narrowed, purpose) : undefined;
    if (counted && !counted.accepts && counted.parts.every(hasIndex)) {
      const about = { column: 'a member', is: 'equal' } as const;
      const found = accepted.map((condition) => ({ ...counted, parts: [...counted.parts, { condition, about }] }));
      return [withIds({ ...counted, ...testedBy(database, plan, [test]) }, toTest), ...found];
    }
    const ids = await idsInIndex(database, project_id, index, accepted, maxCalls - toTest.length);
    if (ids) return [withIds(open.length === 0 ? narrowed : plan, ids.concat(toTest))];
  }
  return undefined;
}

/** Returns a plan that reads only some calls. */
function withIds(plan: CallsPlan, ids: readonly string[]): CallsPlan {
  plan.budget.hold(ids.length * bytesPerPlace, 'ask for fewer calls at once');
  return { ...plan, ids: [...new Set(ids)] };
}

/**
 * Replaces tests of the name of the operation by the names that pass, which an index finds: there are few of them and many calls.
 * For a page of several operations, the order of start is better served by the index of start, unless they have few calls.
 */
async function withOperations(database: Database, plan: CallsPlan, purpose: 'page' | 'count'): Promise<CallsPlan> {
  const isTest = ({ about }: ConditionPart): boolean => about?.column === 'op_name' && about.is !== 'equal';
  const tests = plan.parts.filter(isTest);
  if (tests.length === 0 || !isServedByOperations(plan)) return plan;
  const found = await database.read((transaction) => namesThatPass(transaction, plan.project_id, tests));
  const onName = allOf(plan.tests.filter(readsNameOnly));
  const passed = found?.filter((op_name) => onName.accepts(new ComparedRecord({ op_name })));
  if (passed?.length === 0) return withIds(plan, []);
  const named = isOneOf('op_name', passed ?? []).parts[0];
  if (passed === undefined || named === undefined) return plan;
  const parts = [...plan.parts.filter((part) => !isTest(part)), named];
  const rest = plan.tests.filter((test) => !readsNameOnly(test));
  const narrowed = { ...plan, parts, ...testedBy(database, plan, rest) };
  if (passed.length < 2 || purpose === 'count') return narrowed;
  return (await findsFew(database, plan.project_id, named)) ? { ...narrowed, isSmall: true } : plan;
}

/** Returns whether the index of a condition finds so few calls that sorting them takes no time. */
async function findsFew(database: Database, project_id: string, { condition, about }: ConditionPart): Promise<boolean> {
  const next = await database.read((transaction) =>
    transaction
      .selectFrom('calls')
      .select('id')
      .where('project_id', '=', project_id)
      .where(condition)
      .orderBy(sql.ref(about!.column))
      .limit(1)
      .offset(maxSmall)
      .executeTakeFirst(),
  );
  return next === undefined;
}

/** Returns the names of a project's operations that pass all tests; undefined if there are too many or too long ones. */
async function namesThatPass(
  transaction: Transaction,
  project_id: string,
  tests: readonly ConditionPart[],
): Promise<string[] | undefined> {
  const next = sql`select op_name from calls where project_id = ${project_id}`;
  const isShort = sql<SqlBool>`length(op_name) <= ${sql.lit(maxNameChars)}`;
  // Each name is one step in the index.
  const { rows } = await sql<{ op_name: string | null; passes: unknown }>`
    with recursive names(name) as (
      select * from (${next} order by op_name limit 1) as first_name
      union all
      select (${next} and op_name > names.name order by op_name limit 1) from names where names.name is not null
    )
    select case when ${isShort} then op_name end as op_name, case when ${isShort} then ${joinParts(tests)} end as passes
    from (select name as op_name from names where name is not null limit ${sql.lit(maxTestedNames + 1)}) as operations
  `.execute(transaction);
  if (rows.length > maxTestedNames) return undefined;
  const passed: string[] = [];
  for (const { op_name, passes } of rows) {
    if (op_name === null) return undefined;
    if (passes) passed.push(op_name);
  }
  return passed;
}

/** Returns whether the index of operations serves a plan best: no condition has another index, which may find few calls. */
export function isServedByOperations({ parts, ids }: CallsPlan): boolean {
  const served = ['project_id', 'op_name', 'started_at'];
  return !ids && parts.every((part) => !hasIndex(part) || served.includes(part.about!.column));
}

/** The memory of a place without its texts, in bytes. */
export const bytesPerPlace = 100;
