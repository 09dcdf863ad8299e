import * as z from 'zod';
import { withFallback } from '../client/with-fallback.ts';
import { createEvaluationRequest, createEvaluationResponse } from '../contract/evaluations.ts';
import { splitProjectId } from '../contract/identifiers.ts';
import { formatReference, objectIdOf, objectReference, parseReference } from '../contract/references.ts';
import { shapeWithoutNull } from '../contract/shape-without-null.ts';
import { HeddleError } from '../core/errors.ts';
import { checkPlaceholders } from '../evaluations/check-placeholders.ts';
import { readDataset, readScorersOf } from '../evaluations/evaluation-plan.ts';
import { baseClasses, readNamedVersion, versionsOfName } from '../records/read-objects.ts';
import { unknownObject } from '../records/unknown-object.ts';
import { cell } from '../text/compact-table.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

const { name, dataset: _, scorers: __, ...members } = createEvaluationRequest.shape;

const nameOrReference = z.string().min(1).max(1000);

const input = z.strictObject({
  name,
  dataset: nameOrReference.describe('Name, for its newest version, or reference.'),
  ...shapeWithoutNull(members),
  scorers: z.array(nameOrReference).optional().describe('Names, for their newest versions, or references.'),
  trials: z.int().min(1).default(1).describe('Number of trials per row.'),
  project_id: projectArgument('Project of the evaluation'),
});

const output = createEvaluationResponse.extend({
  existed: z.boolean().optional().describe('True if the same definition existed already; absent if that is unknown.'),
  newest_version: z.int().optional().describe('version_index of the newest version of this name.'),
  warnings: z.array(z.string()).optional(),
});

type CreatedEvaluation = z.output<typeof output>;

export const createEvaluationTool = defineTool({
  name: 'create_evaluation',
  title: 'Create evaluation',
  groups: ['evaluation'],
  uses: ['createEvaluation'],
  description: `Stores an evaluation: a dataset and scorers for its rows. It does not run it.
Example: {"name":"Support answers","dataset":"tickets","scorers":["names_label"]}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ project_id, ...definition }, context): Promise<CreatedEvaluation> {
    const project = projectOf({ project_id }, context);
    const warnings = overwrittenMembers(definition.eval_attributes);
    const resolve = (text: string, kind: 'dataset' | 'scorer'): Promise<string> =>
      withFallback(
        () => resolveReference(text, kind, project, context),
        async () => {
          if (!parseReference(text)) {
            throw wrongReference(text, kind, 'the service cannot look for names, so a reference is needed');
          }
          const warning = 'The references were not checked: the service cannot read objects.';
          if (!warnings.includes(warning)) warnings.push(warning);
          return text;
        },
      );
    const resolved = {
      ...definition,
      dataset: await resolve(definition.dataset, 'dataset'),
      ...(definition.scorers && {
        scorers: await Promise.all(definition.scorers.map((scorer) => resolve(scorer, 'scorer'))),
      }),
    };
    await requireColumns(resolved, context);
    const versions = await versionsOfName(definition.name, 'Evaluation', project, context.service);
    const created = await context.service.call('createEvaluation', { path: splitProjectId(project), body: resolved });
    return {
      ...created,
      ...(versions && {
        existed: versions.some(({ digest }) => digest === created.digest),
        newest_version: Math.max(created.version_index, ...versions.map(({ version_index }) => version_index)),
      }),
      ...(warnings.length > 0 && { warnings }),
    };
  },

  render({ object_id, version_index, evaluation_ref, existed, newest_version, warnings = [] }) {
    const newest =
      newest_version === undefined || newest_version === version_index ? '' : ` The newest is ${newest_version}.`;
    const verb = existed ? 'Existed already' : 'Stored';
    return [
      `${verb} as version ${version_index} of ${cell(object_id)}: ${cell(evaluation_ref)}.${newest}`,
      ...warnings,
    ].join('\n');
  },
});

/**
 * Requires that the dataset has the columns that the scorers need. Where the service cannot read them, a run will tell.
 * @throws HeddleError with the nearest columns.
 */
async function requireColumns(
  { name, dataset, scorers = [] }: { name: string; dataset: string; scorers?: string[] },
  { service }: ToolContext,
): Promise<void> {
  await withFallback(
    async () => {
      const read = await readScorersOf(scorers, service);
      if (read.judges.length + read.comparisons.length === 0) return;
      const rows = await readDataset({ name, val: { dataset } }, service);
      if (rows.count === 0) return;
      await checkPlaceholders({ messages: [], argument: 'scorers' }, read, rows, {
        name: 'the dataset',
        judgeAdvice: 'Store the scorer again under its name.',
        columnAdvice: 'Store the scorer again under its name with another column, or add it to the dataset.',
        consequence: 'Nothing was stored',
      });
    },
    async () => undefined,
  );
}

/** Members of a stored evaluation. The public service merges eval_attributes into them. */
const storedMembers = new Set([
  'name',
  'description',
  'dataset',
  'scorers',
  'trials',
  'evaluation_name',
  'evaluate',
  'predict_and_score',
  'summarize',
]);

function overwrittenMembers(attributes: Record<string, unknown> = {}): string[] {
  const names = Object.keys(attributes).filter((name) => storedMembers.has(name) || name.startsWith('_'));
  if (names.length === 0) return [];
  return [
    `eval_attributes has ${names.join(', ')}: the public service stores attributes beside the members of the definition, so these overwrite the definition's own. Use other names.`,
  ];
}

/**
 * Returns the reference, with its digest, to the version that a name or a reference stands for now.
 * @throws HeddleError `not_found` when there is none, `invalid_arguments` when it is another kind of object.
 */
async function resolveReference(
  text: string,
  kind: 'dataset' | 'scorer',
  project: string,
  context: ToolContext,
): Promise<string> {
  const reference = parseReference(text) ?? parseReference(objectReference(project, objectIdOf(text), 'latest'));
  if (!reference || !['object', 'op'].includes(reference.kind) || (text.includes('://') && !parseReference(text))) {
    throw wrongReference(text, kind, 'it is no reference to an object');
  }
  const version = await readNamedVersion(text, project, context.service);
  if (!version) {
    const unknown = await unknownObject(reference, context.service, baseClasses[kind]);
    throw new HeddleError({ ...unknown, message: `Nothing was stored: the ${kind} ${text} does not exist.` });
  }
  // Scorers that are functions are stored as operations.
  const isScorerOp = kind === 'scorer' && (version.kind === 'op' || reference.kind === 'op');
  if (!isScorerOp && version.base_object_class !== baseClasses[kind]) {
    throw wrongReference(text, kind, `it is ${version.base_object_class ?? `a plain ${version.kind ?? 'object'}`}`);
  }
  return formatReference({ ...reference, name: version.object_id, version: version.digest });
}

function wrongReference(text: string, kind: string, reason: string): HeddleError {
  return new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was stored: ${text} is not a ${kind}; ${reason}.`,
    hint: `Call list_objects with kind ${kind} for references that fit.`,
  });
}
