import * as z from 'zod';
import { splitProjectId } from '../contract/identifiers.ts';
import { objectName } from '../contract/object-name.ts';
import { classMembers } from '../contract/objects.ts';
import { formatReference, objectIdOf, objectReference, referenceScheme } from '../contract/references.ts';
import { rowOfTable } from '../contract/tables.ts';
import { maxDatasetBytes, maxDatasetRows, rowsOfQueue, tooLarge } from '../queues/dataset-rows.ts';
import { itemsFilter } from '../queues/items-filter.ts';
import { comparedWith, versionMembers, versionSentence, versionsOfName } from '../records/read-objects.ts';
import { callPath, cutMembers, maxPaths } from '../text/call-values.ts';
import { cell, compactTable, escapeInvisible } from '../text/compact-table.ts';
import { pluralize } from '../text/page.ts';
import { defineTool, projectArgument, projectOf, queueArgument, type ToolContext } from './definition/tool.ts';

const row = rowOfTable.meta({ type: 'object', additionalProperties: true });
const columnName = z.string().min(1).max(200);

const input = z
  .strictObject({
    name: objectName,
    rows: z.array(row).min(1).max(maxDatasetRows).optional(),
    from_queue: z
      .strictObject({
        queue_id: queueArgument,
        filter: itemsFilter.optional().describe('As in query_queue_items.'),
        map: z
          .record(columnName, callPath)
          .refine((map) => Object.keys(map).length > 0, 'needs a column')
          .refine((map) => Object.keys(map).length <= maxPaths, `has more than ${maxPaths} columns`)
          .optional()
          .describe('Column to path in the call, judgement.FIELD or note.'),
        expected: z.string().optional().describe('latest (default), majority, gold or an annotator.'),
      })
      .optional(),
    description: z.string().optional(),
    project_id: projectArgument('Project of the dataset'),
    dry_run: z.boolean().optional(),
  })
  .superRefine(({ rows, from_queue }, context) => {
    if ((rows === undefined) === (from_queue === undefined)) {
      context.addIssue({ code: 'custom', message: 'needs either rows or from_queue' });
    }
  });

const output = z.object({
  dataset_ref: z.string().optional().describe('Reference to the version, for create_evaluation and read_object.'),
  row_count: z.int(),
  columns: z.array(z.string()),
  ...versionMembers,
  dry_run: z.boolean().optional(),
  rows: z.array(z.looseObject({})).optional().describe('The first rows, in a dry run.'),
  warnings: z.array(z.string()).optional(),
});

type CreatedDataset = z.output<typeof output>;

/** Rows that a dry run shows, and characters of a value in them. */
const shownRows = 3;
const maxShownChars = 300;

export const createDatasetTool = defineTool({
  name: 'create_dataset',
  title: 'Create dataset',
  groups: ['evaluation'],
  uses: ['createTable', 'createObject'],
  description: `Stores rows, or the matching items of a queue, as a dataset.
Example: {"name":"Answered","from_queue":{"queue_id":"support-triage","filter":{"annotation_states":["completed"]}}}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ name, rows: given, from_queue, description, dry_run, ...query }, context): Promise<CreatedDataset> {
    const project = projectOf(query, context);
    const versions = await versionsOfName(name, 'Dataset', project, context.service);
    const found = given ? { rows: given, warnings: [] } : await rowsOfQueue(from_queue!, project, context);
    const content = { rows: found.rows, ...(description !== undefined && { description }) };
    const { rows, ...about } = await context.withoutSecrets(content);
    if (given && Buffer.byteLength(JSON.stringify(rows)) > maxDatasetBytes) throw tooLarge();
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const warnings = [...found.warnings, ...warningsOf(rows, columns, rows !== found.rows)];
    const facts = { row_count: rows.length, columns, ...(warnings.length > 0 && { warnings }) };
    if (dry_run) {
      const shown = rows.slice(0, shownRows).map((row) => cutMembers(row, maxShownChars));
      return { ...facts, ...comparedWith(versions), dry_run, rows: shown };
    }
    const { object_id, digest } = await store({ name, rows, ...about }, project, context);
    return {
      dataset_ref: objectReference(project, object_id, digest),
      ...facts,
      ...comparedWith(versions, digest),
    };
  },

  render({ dataset_ref, row_count, columns, dry_run, rows = [], warnings = [], ...facts }) {
    const size = `${pluralize(row_count, 'row')} with the columns ${columns.map(cell).join(', ')}`;
    const versions = versionSentence(facts);
    const lines = dry_run
      ? [
          `Dry run: nothing was stored. There are ${size}.${versions} The first ${rows.length}:`,
          compactTable(rows, columns),
        ]
      : [`${facts.existed ? 'Existed already' : 'Stored'}: ${cell(dataset_ref)}, ${size}.${versions}`];
    return [...lines, ...warnings.map(escapeInvisible)].join('\n');
  },

  shrink({ rows = [], ...facts }, share) {
    if (rows.length === 0) return undefined;
    const maxChars = Math.floor(maxShownChars * share * 0.8);
    return maxChars < 20 ? { ...facts } : { ...facts, rows: rows.map((row) => cutMembers(row, maxChars)) };
  },
});

function warningsOf(rows: readonly object[], columns: readonly string[], hadSecrets: boolean): string[] {
  const distinct = new Set(rows.map((row) => JSON.stringify(row))).size;
  return [
    ...(hadSecrets ? ['Secrets in the rows were replaced by [secret].'] : []),
    ...(distinct < rows.length ? [`${pluralize(rows.length - distinct, 'row')} with the content of another row.`] : []),
    ...(columns.includes('output')
      ? ['A judge prompt cannot use the column output: {output} is what the evaluated model answers.']
      : []),
  ];
}

/**
 * Stores the rows as a table, and the dataset that refers to it, as the SDK does: every version of the public service has these
 * operations.
 */
async function store(
  { name, description, rows }: { name: string; description?: string; rows: Record<string, unknown>[] },
  project_id: string,
  { service }: ToolContext,
): Promise<{ object_id: string; digest: string }> {
  const table = await service.call('createTable', { body: { table: { project_id, rows } } });
  const parts = { scheme: referenceScheme, ...splitProjectId(project_id), kind: 'table', name: table.digest } as const;
  const about = { name, description: description ?? null, rows: formatReference(parts) };
  const object_id = objectIdOf(name);
  const val = { ...about, ...classMembers('Dataset', 'Dataset') };
  const { digest } = await service.call('createObject', { body: { obj: { project_id, object_id, val } } });
  return { object_id, digest };
}
