import * as z from 'zod';
import {
  type CreateEvaluationResponse,
  createEvaluationRequest,
  createEvaluationResponse,
} from '../contract/evaluations.ts';
import { formatReference, parseReference, type Reference, referenceText } from '../contract/references.ts';
import { HeddleError } from '../core/errors.ts';
import { readVersion } from './support/object-versions.ts';
import { orElse } from './support/or-else.ts';
import { cell } from './support/table.ts';
import { defineTool, projectArgument, projectOf, shapeWithoutNull, type ToolContext } from './support/tool.ts';

const { name, dataset, scorers, ...members } = createEvaluationRequest.shape;

const input = z.strictObject({
  name,
  dataset: referenceText.describe(dataset.description!),
  ...shapeWithoutNull(members),
  scorers: z.array(referenceText).optional().describe(scorers.description!),
  trials: z.int().min(1).default(1).describe('Number of trials per row.'),
  project_id: projectArgument('Project of the evaluation'),
});

const output = createEvaluationResponse.extend({
  existed: z.boolean().optional().describe('True if the same definition existed already; absent if that is unknown.'),
  newest_version: z.int().optional().describe('version_index of the newest version of this name.'),
  warnings: z.array(z.string()).optional(),
});

interface CreatedEvaluation extends CreateEvaluationResponse {
  existed?: boolean;
  newest_version?: number;
  warnings?: string[];
}

export const createEvaluationTool = defineTool({
  name: 'create_evaluation',
  title: 'Create evaluation',
  groups: ['evaluation'],
  uses: ['createEvaluation'],
  description: `Stores an evaluation: a dataset and scorers for its rows. It does not run it. latest is stored as the version that it is now; other content under the same name becomes the next version.
Example: {"name":"Support answers","dataset":"weave:///demo/support/object/tickets:latest","scorers":["weave:///demo/support/object/helpfulness:latest"]}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ project_id, ...definition }, context): Promise<CreatedEvaluation> {
    const project = projectOf({ project_id }, context);
    const warnings = overwrittenMembers(definition.eval_attributes);
    const resolve = (reference: string, kind: 'dataset' | 'scorer'): Promise<string> =>
      orElse(
        () => resolveReference(reference, kind, context),
        async () => {
          const warning = 'The references were not checked: the service cannot read objects.';
          if (!warnings.includes(warning)) warnings.push(warning);
          return reference;
        },
      );
    const resolved = {
      ...definition,
      dataset: await resolve(definition.dataset, 'dataset'),
      ...(definition.scorers && {
        scorers: await Promise.all(definition.scorers.map((scorer) => resolve(scorer, 'scorer'))),
      }),
    };
    const versions = await existingVersions(project, definition.name, context);
    const created = await context.service.createEvaluation(project, resolved, { signal: context.signal });
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

  shrink: () => undefined,
});

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

/** The base classes that a reference of each kind may lead to. */
const classes = { dataset: 'Dataset', scorer: 'Scorer' } as const;

/**
 * Returns a reference with the digest of the version that it names now.
 * @throws HeddleError `not_found` when it leads nowhere, `invalid_arguments` when it leads to another kind of object.
 */
async function resolveReference(text: string, kind: 'dataset' | 'scorer', context: ToolContext): Promise<string> {
  const reference = parseReference(text);
  if (!reference || !['object', 'op'].includes(reference.kind)) {
    throw wrongReference(text, kind, 'it is no reference to an object');
  }
  const version = await readVersion(reference, context);
  if (!version) {
    throw new HeddleError({
      code: 'not_found',
      message: `Nothing was stored: the ${kind} ${text} does not exist.`,
      hint: await suggestion(reference, kind, context),
    });
  }
  // Scorers that are functions are stored as operations.
  const isScorerOp = kind === 'scorer' && (version.kind === 'op' || reference.kind === 'op');
  if (!isScorerOp && version.base_object_class !== classes[kind]) {
    throw wrongReference(text, kind, `it is ${version.base_object_class ?? `a plain ${version.kind ?? 'object'}`}`);
  }
  return formatReference({ ...reference, version: version.digest });
}

function wrongReference(text: string, kind: string, reason: string): HeddleError {
  return new HeddleError({
    code: 'invalid_arguments',
    message: `Nothing was stored: ${text} is not a ${kind}; ${reason}.`,
    hint: `Call list_objects with kind ${kind} for references that fit.`,
  });
}

/** Maximum number of names that a hint lists. */
const maxNames = 5;

async function suggestion(
  { entity, project }: Reference,
  kind: 'dataset' | 'scorer',
  { service, signal }: ToolContext,
): Promise<string> {
  const filter = { base_object_classes: [classes[kind]], latest_only: true };
  const query = {
    project_id: `${entity}/${project}`,
    filter,
    sort_by: [{ field: 'created_at', direction: 'desc' as const }],
    limit: maxNames,
    metadata_only: true,
  };
  const found = await service.queryObjects(query, { signal }).catch(() => ({ objs: [] }));
  const names = found.objs.map(({ object_id }) => object_id).join(', ');
  const known = names === '' ? `The project has no ${kind}.` : `The newest ${kind}s of the project are ${names}.`;
  return `${known} Call list_objects with kind ${kind} for their references.`;
}

/** Returns the versions of the evaluation so far; undefined at a service that cannot tell. */
async function existingVersions(project_id: string, name: string, context: ToolContext) {
  // The rule by which services make an object id of a name.
  const object_id = name.replaceAll(/[ /]/g, '_').replaceAll(/[<>]/g, '').toLowerCase();
  const query = { project_id, filter: { object_ids: [object_id] }, metadata_only: true };
  return orElse(
    async () => (await context.service.queryObjects(query, { signal: context.signal })).objs,
    async () => undefined,
  );
}
