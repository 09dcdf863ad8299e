import * as z from 'zod';
import { splitProjectId } from '../contract/identifiers.ts';
import { echoModel, echoModelFacts } from '../contract/inference.ts';
import type { StoredObject } from '../contract/objects.ts';
import { formatReference, referenceScheme } from '../contract/references.ts';
import { derivedModel, isDerivedName, operationOfRuns } from '../records/derived-name.ts';
import { findVersions } from '../records/read-objects.ts';
import { knownProjects, requireProject } from '../records/require-project.ts';
import { pageArguments, pageMembers, pagePosition, pluralize, renderPage } from '../text/page.ts';
import { defineTool, projectArgument, projectOf } from './definition/tool.ts';

const kinds = ['evaluation', 'dataset', 'scorer', 'op', 'model', 'prompt', 'field', 'stored_model'] as const;

const input = z
  .strictObject({
    kind: z.enum(kinds),
    name: z.string().min(1).max(256).optional().describe('Part of the name.'),
    versions: z.boolean().optional().describe('All versions of name.'),
    project_id: projectArgument('Project (ignored for models)'),
    ...pageArguments,
  })
  .superRefine(({ kind, name, versions }, context) => {
    if (versions && (name === undefined || kind === 'model')) {
      context.addIssue({ code: 'custom', path: ['versions'], message: 'needs the name of a stored object' });
    }
  });

const output = z.object({
  kind: z.enum(kinds),
  objects: z
    .array(z.record(z.string(), z.unknown()))
    .describe('Entries. Pass reference to other tools, or id to inference as model.'),
  ...pageMembers,
  total: z.int().optional().describe('Matches, on an empty page.'),
  left_out: z.int().optional(),
});

/** The result of list_objects. */
export type ObjectPage = z.output<typeof output>;

/** Objects that are counted for a page past the end. */
const maxCounted = 5000;

const columns = ['reference', 'id', 'name', 'object_id', 'class', 'version_index', 'description', 'created_at'];

export const listObjectsTool = defineTool({
  name: 'list_objects',
  title: 'List stored objects or models',
  groups: ['inference', 'evaluation'],
  uses: ['queryObjects', 'listModels'],
  description: `Lists the latest versions of a kind, newest first, with references for other tools. model: ids for inference; stored_model: models of evaluations; op: traced functions.
Example: {"kind":"dataset"}`,
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,
  hasTimes: true,

  async run({ kind, name, versions, limit, offset = 0, ...args }, context): Promise<ObjectPage> {
    const { service } = context;
    if (kind === 'model') {
      const { data } = await service.call('listModels', {}, { project: context.project });
      const isMatch = (id: string): boolean => name === undefined || id.toLowerCase().includes(name.toLowerCase());
      const found = data.filter(({ id }) => isMatch(id));
      // Heddle's own service has the echo model in any case; the list of a model provider does not name it.
      const isEcho = isMatch(echoModel) && data.every(({ id }) => id !== echoModel);
      if (isEcho && (await knownProjects(service).catch(() => undefined))) found.push(echoModelFacts);
      const models = found.slice(offset, offset + limit);
      const position = pagePosition(offset, models.length, found.length > offset + limit);
      return { kind, objects: models, ...position, ...(models.length === 0 && { total: found.length }) };
    }
    const project = projectOf(args, context);
    const derived = new Set<string>();
    const isWanted = ({ object_id, description }: StoredObject): boolean => {
      const isOfRuns = description === derivedModel || description === operationOfRuns;
      if (isDerivedName(object_id) || isOfRuns) derived.add(object_id);
      return !derived.has(object_id);
    };
    const leavesOut = name === undefined && ['dataset', 'evaluation', 'stored_model', 'op'].includes(kind);
    // Asking for one object more than needed tells whether there is a next page.
    const query = { name, versions, ...(leavesOut && { isWanted }) };
    const found = await findVersions(kind, project, { ...query, limit: limit + 1, offset }, service);
    const isPastEnd = found.length === 0 && offset > 0;
    if (found.length === 0 && !isPastEnd) await requireProject(project, service);
    const all = isPastEnd
      ? await findVersions(kind, project, { ...query, limit: maxCounted, offset: 0 }, service)
      : found;
    const objects = found
      .slice(0, limit)
      .map(({ digest, ...object }) => ({ reference: referenceTo(object.object_id, digest, kind, project), ...object }));
    return {
      kind,
      objects,
      ...pagePosition(offset, objects.length, found.length > limit),
      ...(objects.length === 0 && { total: all.length }),
      ...(derived.size > 0 && { left_out: derived.size }),
    };
  },

  render({ kind, objects, offset, next_offset, total, left_out }: ObjectPage) {
    const others =
      left_out === undefined
        ? ''
        : kind === 'stored_model' || kind === 'op'
          ? ` ${pluralize(left_out, kind === 'op' ? 'op' : 'model')} that runs and judges stored left out; a part of its name finds one.`
          : ` ${pluralize(left_out, 'object')} that runs of samples made left out; name "-sample-" finds them.`;
    if (objects.length === 0)
      return `No ${kind}s ${offset === 0 ? '' : `at offset ${offset}: ${total} `}match.${others}`;
    const summary = `${pluralize(objects.length, kind)} from offset ${offset}.${others}`;
    return renderPage(summary, objects, columns, next_offset);
  },

  rows: 'objects',
});

function referenceTo(name: string, version: string, kind: ObjectPage['kind'], project: string): string {
  const parts = { scheme: referenceScheme, ...splitProjectId(project), kind: kind === 'op' ? 'op' : 'object' } as const;
  return formatReference({ ...parts, name, version });
}
