import * as z from 'zod';
import { hasJudgementConditions } from '../contract/judgement-test.ts';
import { hasValue, isByNamed, itemsFilter, judgementCondition } from '../queues/items-filter.ts';
import { latestJudgements } from '../queues/judgements.ts';
import { requireKnownNames, withWholeNames } from '../queues/known-names.ts';
import {
  type Agreement,
  agreementOfTwo,
  compareAnnotators,
  dimensions,
  type JudgedItem,
  judgedItems,
  otherFields,
  type SummaryPart,
  type SummaryTable,
  summaryTable,
  summaryTables,
} from '../queues/queue-summary.ts';
import { requireQueue } from '../queues/require-queue.ts';
import { readSummarized } from '../queues/summarized-items.ts';
import { cell } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { pageArguments, pluralize } from '../text/page.ts';
import { renderAgreement } from '../text/render-agreement.ts';
import { defineTool, projectArgument, projectOf, queueArgument } from './definition/tool.ts';

const input = z.strictObject({
  queue_id: queueArgument.describe('Id or name of the queue.'),
  by: z.array(z.enum(dimensions)).min(1).max(2).default(['state']).describe('One or two dimensions.'),
  filter: itemsFilter
    .optional()
    .describe('As in query_queue_items; field, value and judged_by also select judgements.'),
  limit: pageArguments.limit.default(20).describe('Maximum number of rows of a table, and of ids of disagreements.'),
  offset: z.int().min(0).default(0).describe('Number of rows, and of compared pairs, to skip.'),
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
  left_out: z.string().optional().describe('What the result does not have, and how to get it.'),
});

type Summary = z.output<typeof output>;

export const summarizeQueueTool = defineTool({
  name: 'summarize_queue',
  title: 'Count queue items and judgements',
  groups: ['queue'],
  uses: ['summarizeQueueItems', 'queryQueueItems'],
  description: `Counts a whole queue in one call. by ["field"] also compares annotators: agreement, Cohen's kappa, item ids of disagreements. An annotator's latest judgement counts.
Example: {"queue_id":"support-triage","by":["operation","state"]}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ queue_id, by, filter: given = {}, limit, offset, ...query }, context): Promise<Summary> {
    const queue = { ...context, id: queue_id, project: projectOf(query, context) };
    const filter = await withWholeNames(given, queue);
    const wantsJudgements = by.includes('annotator') || by.includes('field');
    const readsJudgements = wantsJudgements || hasJudgementConditions(filter);
    const { items: found, judgements } = await readSummarized(queue, filter, readsJudgements);
    if (found.length === 0) await requireQueue(queue_id, queue.project, context.service);
    const matches = await judgementCondition(filter, judgements, queue);
    const items = found.filter(({ call_id }) => matches(call_id));
    const calls = new Set(items.map(({ call_id }) => call_id));
    if (items.length === 0) await requireKnownNames(filter, queue);
    const isMeant = isByNamed(filter, queue);
    const selected = judgements.filter(
      (judgement) => isMeant(judgement) && (filter.field === undefined || judgement.field === filter.field),
    );
    const judgedCalls = new Set(selected.map(({ call_id }) => call_id));
    const meant = selected.filter(({ call_id }) => calls.has(call_id));
    await context.service.pause();
    const judged = judgedItems(items, latestJudgements(meant));
    // Annotators are compared on all that they judged in these items.
    const counted = judged.filter(({ judgement }) => hasValue(judgement, filter));
    await context.service.pause();
    const tables = summaryTables(by, items, counted, { limit, offset });
    await context.service.pause();
    return {
      total_items: items.length,
      ...(wantsJudgements && {
        total_judgements: counted.length,
        unjudged_items: found.filter(({ call_id }) => !judgedCalls.has(call_id)).length,
      }),
      tables,
      ...(by.includes('field') && comparison(judged, { limit, offset })),
    };
  },

  render({ total_items, total_judgements, unjudged_items = 0, tables, agreement = [], left_out }: Summary) {
    const judged = total_judgements === undefined ? '' : `, ${pluralize(total_judgements, 'judgement')}`;
    const unjudged = unjudged_items === 0 ? '' : `, ${pluralize(unjudged_items, 'item')} without a judgement`;
    return [
      `${pluralize(total_items, 'item')}${judged}${unjudged}.`,
      ...tables.map(renderTable),
      ...agreement.map(renderAgreementOfTwo),
      ...(left_out === undefined ? [] : [left_out]),
    ].join('\n');
  },

  shrink(summary, share) {
    const { tables, agreement = [] } = summary;
    const kept = tables.slice(0, Math.floor(tables.length * share));
    const compared = agreement.slice(0, Math.floor(agreement.length * share));
    if (kept.length + compared.length === 0) return undefined;
    const { agreement: _, ...rest } = summary;
    const left_out =
      'Tables or comparisons are left out because of the size limit. Use one dimension, a filter or a lower limit.';
    return { ...rest, tables: kept, ...(compared.length > 0 && { agreement: compared }), left_out };
  },
});

/** Fields that a sentence names. */
const maxNamedFields = 20;

function comparison(judged: readonly JudgedItem[], part: SummaryPart): Partial<Summary> {
  const { agreement, others, next_offset, notCompared } = compareAnnotators(judged, part);
  const fields = otherFields(judged);
  const unlisted = agreement.reduce(
    (sum, { disagreements = 0, disagreement_ids = [] }) => sum + disagreements - disagreement_ids.length,
    0,
  );
  const named = fields
    .slice(0, maxNamedFields)
    .map((name) => cell(shortName(name)))
    .join(', ');
  const left_out = [
    ...(others > 0
      ? [`${pluralize(others, 'compared pair')}${next_offset ? ` (next: offset ${next_offset})` : ''}`]
      : []),
    ...(notCompared > 0 ? [`${pluralize(notCompared, 'annotator')} with fewer judgements, not compared`] : []),
    ...(unlisted > 0 ? [`ids of ${pluralize(unlisted, 'disagreement')} (raise limit)`] : []),
    ...(fields.length > 0 ? [`${pluralize(fields.length, 'field')} (pass filter.field): ${named}`] : []),
  ].join('; ');
  return {
    ...(agreement.length > 0 && { agreement }),
    ...(left_out !== '' && { left_out: `Left out: ${left_out}.` }),
  };
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
  const { field, annotators, items, no_kappa, disagreements = 0, disagreement_ids = [] } = agreement;
  const [first, second] = annotators.map(cell);
  const heading = `agreement on ${cell(field)} of ${first} and ${second}: ${pluralize(items, 'item')} judged by both`;
  if (items === 0) return `${heading}, kappa undefined: ${no_kappa}`;
  return [
    ...renderAgreement(heading, `${first} \\ ${second}`, agreement, cell),
    ...(disagreements === 0
      ? []
      : [`${pluralize(disagreements, 'disagreement')}, item ids: ${disagreement_ids.map(cell).join(' ')}`]),
  ].join('\n');
}
