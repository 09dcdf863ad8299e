import * as z from 'zod';
import { invalidArgument } from '../core/errors.ts';
import { learnAccount, meansCaller } from '../queues/authorship.ts';
import { type Disagreements, disagreement, findDisagreements } from '../queues/disagreements.ts';
import { valueLine } from '../queues/given-feedback.ts';
import {
  hasCallConditions,
  hasValue,
  type ItemsFilter,
  isByNamed,
  itemsFilter,
  judgementCondition,
} from '../queues/items-filter.ts';
import { latestJudgements } from '../queues/judgements.ts';
import { findWithWholeNames, isWholeNameOf, requireKnownNames } from '../queues/known-names.ts';
import { readQueueFields } from '../queues/queue-fields.ts';
import {
  type Agreement,
  type AgreementOfAll,
  agreementOfAll,
  agreementOfTwo,
  compareAnnotators,
  countItems,
  dimensions,
  type JudgedItem,
  judgedItems,
  otherFields,
  type SummaryPart,
  type SummaryTable,
  summaryTable,
  summaryTables,
} from '../queues/queue-summary.ts';
import { requireAnnotators } from '../queues/require-annotators.ts';
import { requireQueue } from '../queues/require-queue.ts';
import { readSummarized } from '../queues/summarized-items.ts';
import { cutMembers } from '../text/call-values.ts';
import { cell, compactTable } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { pageArguments, pluralize } from '../text/page.ts';
import { renderAgreement } from '../text/render-agreement.ts';
import { defineTool, mentionsTime, projectArgument, projectOf, queueArgument } from './definition/tool.ts';

const input = z.strictObject({
  queue_id: queueArgument.describe('Id or name of the queue.'),
  by: z.array(z.enum(dimensions)).min(1).max(2).default(['state']),
  filter: itemsFilter
    .optional()
    .describe('As in query_queue_items; field, value and judged_by also select judgements.'),
  annotators: z.array(z.string()).min(2).max(20).optional().describe('Only these; me is you.'),
  disagreements: z.int().min(1).max(1000).optional().describe('Number to list.'),
  limit: pageArguments.limit.default(20).describe('Maximum number of rows of a table, and of ids of disagreements.'),
  offset: z.int().min(0).default(0).describe('Number of rows, compared pairs and disagreements to skip.'),
  project_id: projectArgument('Project of the queue'),
});

const output = z.object({
  total_items: z.int().describe('Items that match.'),
  total_judgements: z.int().optional().describe('Judgements of these items that count.'),
  unjudged_items: z
    .int()
    .optional()
    .describe('Items without a judgement, in the field and by the annotator of the filter.'),
  tables: z.array(summaryTable),
  agreement: z.array(agreementOfTwo).optional(),
  alpha: z.array(agreementOfAll).optional(),
  disagreements: z.array(disagreement).optional().describe('The worst first; without those that gold settles.'),
  left_out: z.string().optional().describe('What the result does not have, and how to get it.'),
});

type Summary = z.output<typeof output>;

export const summarizeQueueTool = defineTool({
  name: 'summarize_queue',
  title: 'Count queue items and judgements',
  groups: ['queue'],
  uses: ['summarizeQueueItems', 'queryQueueItems'],
  description: `Counts the items of a whole queue; by ["field"] or with annotators, also judgements: agreement, kappa, disagreements.
Example: {"queue_id":"support-triage","by":["operation","state"]}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,
  hasTimes: mentionsTime,

  async run({ queue_id, by, filter: given = {}, limit, offset, ...query }, context): Promise<Summary> {
    const queue = { ...context, id: queue_id, project: projectOf(query, context) };
    const { annotators, disagreements } = query;
    const compares = by.includes('field') || annotators !== undefined || disagreements !== undefined;
    const wantsJudgements = compares || by.includes('annotator') || by.includes('day');
    const isByAnnotator = by.length === 1 && by[0] === 'annotator';
    const namesMe = annotators?.some(meansCaller) ?? false;
    const parts = {
      judgements: wantsJudgements,
      gold: disagreements !== undefined,
      account: namesMe,
      days: isByAnnotator || by.includes('day'),
      paces: isByAnnotator,
    };
    const {
      filter,
      found: read,
      judgements: ofQueue,
    } = await findWithWholeNames(given, queue, {
      find: (tried) => readSummarized(queue, tried, parts),
      isFound: ({ items, judgements }) => (wantsJudgements ? isWholeNameOf(given, judgements) : items.length > 0),
      judgementsIn: (summary) => (wantsJudgements && !hasCallConditions(given) ? summary.judgements : undefined),
    });
    const { items: found, judgements } = read;
    if (found.length === 0) await requireQueue(queue_id, queue.project, context.service);
    if (namesMe) await learnAccount(judgements, queue);
    const named = annotators && requireAnnotators(annotators, judgements, 'annotators', queue);
    if (named && named.size < annotators!.length) {
      const hint = 'Pass each annotator once.';
      throw invalidArgument('annotators', { fault: 'annotators names someone twice', hint });
    }
    const matches = wantsJudgements ? await judgementCondition(filter, judgements, queue) : () => true;
    const items = found.filter(({ call_id }) => matches(call_id));
    const calls = new Set(items.map(({ call_id }) => call_id));
    await requireKnownNames(filter, queue, items.length, ofQueue);
    // A comparison, and a dispute, are of several annotators, also on the items that one of them has judged.
    const isOfSeveral = annotators !== undefined || disagreements !== undefined || filter.disagreement !== undefined;
    const isMeant = isOfSeveral ? () => true : isByNamed(filter, queue);
    const selected = judgements.filter(
      (judgement) =>
        isMeant(judgement) &&
        (filter.field === undefined || judgement.field === filter.field) &&
        (named?.has(judgement.annotator) ?? true),
    );
    // An item that lacks the judgement of an annotator, or in a field, does not match, but is counted; with another condition it is not.
    const countsMatching = isOfSeveral || filter.value !== undefined || filter.judged_at_least !== undefined;
    const judgedCalls = new Set(selected.map(({ call_id }) => call_id));
    const meant = selected.filter(({ call_id }) => calls.has(call_id));
    await context.service.pause();
    const judged = judgedItems(items, latestJudgements(meant));
    // Annotators are compared on all that they judged in these items.
    const counted = judged.filter(({ judgement }) => hasValue(judgement, filter));
    await context.service.pause();
    const today = context.service.facts.timeBefore(Date.now()).slice(0, 10);
    const compared = judgements.filter(
      ({ call_id, annotator }) => calls.has(call_id) && (named?.has(annotator) ?? true),
    );
    const all = isByAnnotator ? judgedItems(items, latestJudgements(compared)) : [];
    const tables = summaryTables(by, items, counted, { limit, offset }, { all, today, seconds: read.seconds });
    await context.service.pause();
    const disputes =
      disagreements === undefined
        ? undefined
        : findDisagreements(judged, read.gold, await readQueueFields(queue_id, queue.project, context.service));
    return {
      total_items: countItems(items),
      ...(wantsJudgements && {
        total_judgements: countItems(counted.map(({ item }) => item)),
        unjudged_items: countItems((countsMatching ? items : found).filter(({ call_id }) => !judgedCalls.has(call_id))),
      }),
      tables,
      ...(compares &&
        comparison(judged, { limit, offset }, disputes, {
          ...query,
          filter: items.length < found.length ? filter : {},
        })),
    };
  },

  judgedQueue: ({ queue_id, ...query }, context) => ({ project: projectOf(query, context), id: queue_id }),

  render({ total_items, total_judgements, unjudged_items = 0, tables, ...more }: Summary) {
    const { agreement = [], alpha = [], disagreements, left_out } = more;
    const judged = total_judgements === undefined ? '' : `, ${pluralize(total_judgements, 'judgement')}`;
    const unjudged = unjudged_items === 0 ? '' : `, ${pluralize(unjudged_items, 'item')} without a judgement`;
    return [
      `${pluralize(total_items, 'item')}${judged}${unjudged}.`,
      ...tables.map(renderTable),
      ...agreement.map(renderAgreementOfTwo),
      ...alpha.map(renderAlpha),
      ...(disagreements ? renderDisagreements(disagreements) : []),
      ...(left_out === undefined ? [] : [left_out]),
    ].join('\n');
  },

  shrink(summary, share) {
    const { tables, agreement = [], disagreements = [] } = summary;
    const kept = tables.slice(0, Math.floor(tables.length * share));
    const compared = agreement.slice(0, Math.floor(agreement.length * share));
    const listed = disagreements.slice(0, Math.floor(disagreements.length * share));
    if (kept.length + compared.length + listed.length === 0) return undefined;
    const { agreement: _agreement, disagreements: _disagreements, ...rest } = summary;
    const left_out =
      'Tables, comparisons or disagreements are left out because of the size limit. Use one dimension, a filter, or a lower limit or number of disagreements.';
    return {
      ...rest,
      tables: kept,
      ...(compared.length > 0 && { agreement: compared }),
      ...(listed.length > 0 && { disagreements: listed }),
      left_out,
    };
  },
});

/** Fields that a sentence names. */
const maxNamedFields = 20;

/** Values of a disagreement are cut at this length. */
const maxValueChars = 200;

/**
 * @param disputes the disagreements, if some of them are asked for; the pairs then need not name their items.
 * @param args with the filter, if its conditions on judgements leave items out.
 */
function comparison(
  judged: readonly JudgedItem[],
  part: SummaryPart,
  disputes: Disagreements | undefined,
  args: { annotators?: unknown; disagreements?: number | undefined; filter: ItemsFilter },
): Partial<Summary> {
  const { annotators, disagreements: listed = 0, filter } = args;
  const { agreement, alpha, others, next_offset, notCompared } = compareAnnotators(
    judged,
    part,
    !disputes,
    annotators !== undefined,
  );
  const fields = otherFields(judged);
  const unlisted = agreement.reduce(
    (sum, { disagreements = 0, disagreement_ids = [] }) => sum + disagreements - disagreement_ids.length,
    0,
  );
  const { open = [], settled = 0, inTexts = 0 } = disputes ?? {};
  const end = part.offset + listed;
  const shown = open.slice(part.offset, end);
  const restOf = open.length > end ? `next: offset ${end}` : `before offset ${part.offset}`;
  const named = fields
    .slice(0, maxNamedFields)
    .map((name) => cell(shortName(name)))
    .join(', ');
  const byValue = (['value', 'disagreement'] as const).filter((name) => filter[name] !== undefined);
  const left_out = [
    ...(byValue.length > 0 && agreement.length > 0
      ? [`items that filter.${byValue.join(' and ')} excludes, so agreement is measured on the others only`]
      : []),
    ...(others > 0
      ? [`${pluralize(others, 'compared pair')}${next_offset ? ` (next: offset ${next_offset})` : ''}`]
      : []),
    ...(notCompared > 0 ? [`${pluralize(notCompared, 'annotator')} with fewer judgements, not compared`] : []),
    ...(open.length > shown.length
      ? [`${open.length - shown.length} of ${pluralize(open.length, 'disagreement')} (${restOf})`]
      : []),
    ...(settled > 0 ? [`${pluralize(settled, 'disagreement')} that gold settles`] : []),
    ...(inTexts > 0 ? [`${pluralize(inTexts, 'disagreement')} in free text`] : []),
    ...(unlisted > 0 && !disputes ? [`ids of ${pluralize(unlisted, 'disagreement')} (raise limit)`] : []),
    ...(fields.length > 0 ? [`${pluralize(fields.length, 'field')} (pass filter.field): ${named}`] : []),
  ].join('; ');
  const isAsked = annotators !== undefined || disputes !== undefined;
  if (isAsked && agreement.length + others === 0) {
    const reason = 'Nothing was compared: no two of these annotators have judged the same field of an item.';
    return { left_out: `${reason} by ["annotator","field"] shows who judged what.` };
  }
  return {
    ...(agreement.length > 0 && { agreement }),
    ...(alpha.length > 0 && { alpha }),
    // An empty list means that annotators agree, not that a page is past the end.
    ...((shown.length > 0 || (disputes && open.length === 0)) && {
      disagreements: shown.map(({ values, ...members }) => ({
        ...members,
        values: cutMembers(values, maxValueChars),
      })),
    }),
    ...(left_out !== '' && { left_out: `Left out: ${left_out}.` }),
  };
}

function renderAlpha({ field, annotators, items, alpha, distance }: AgreementOfAll): string {
  const name = `Krippendorff's alpha${distance === 'interval' ? ' for numbers' : ''}`;
  const figure = alpha === undefined ? `${name} undefined: only one value was used` : `${name} ${alpha}`;
  return `agreement on ${cell(field)} of ${annotators} annotators: ${pluralize(items, 'item')} judged by two or more, ${figure}`;
}

function renderDisagreements(disagreements: NonNullable<Summary['disagreements']>): string[] {
  if (disagreements.length === 0) return ['No disagreements.'];
  const rows = disagreements.map(({ values, ...members }) => ({ ...members, values: valueLine(values) }));
  return [
    'disagreements, the worst first by share:',
    compactTable(rows, ['item_id', 'call_id', 'field', 'values', 'distance', 'share']),
  ];
}

function renderTable({ field, columns, rows, others, total }: SummaryTable): string {
  const lines = [
    columns,
    ...rows,
    ...(others ? [[otherRows(others), ...others.cells]] : []),
    ...(total ? [['(total)', ...total]] : []),
  ];
  return [
    ...(field === undefined ? [] : [`field ${cell(field)}:`]),
    ...lines.map((line) => line.map(cell).join('\t')),
  ].join('\n');
}

function otherRows({ rows, next_offset }: NonNullable<SummaryTable['others']>): string {
  return `(${pluralize(rows, 'other')}${next_offset === undefined ? '' : `, next: offset ${next_offset}`})`;
}

function renderAgreementOfTwo(agreement: Agreement): string {
  const { field, annotators, items, no_kappa, disagreements = 0, disagreement_ids } = agreement;
  const [first, second] = annotators.map(cell);
  const heading = `agreement on ${cell(field)} of ${first} and ${second}: ${pluralize(items, 'item')} judged by both`;
  if (items === 0) return `${heading}, kappa undefined: ${no_kappa}`;
  return [
    ...renderAgreement(heading, `${first} \\ ${second}`, agreement, cell),
    ...(disagreement_ids
      ? [`${pluralize(disagreements, 'disagreement')}, item ids: ${disagreement_ids.map(cell).join(' ')}`]
      : []),
  ].join('\n');
}
