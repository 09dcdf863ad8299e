import * as z from 'zod';
import { classMembers } from '../contract/objects.ts';
import { findPlaceholders } from '../contract/prompts.ts';
import { objectIdOf, objectReference } from '../contract/references.ts';
import {
  type ComparisonScorer,
  comparisonScorerClass,
  llmJudgeScorerClass,
  llmModelClass,
} from '../contract/scorers.ts';
import { compileLinearPattern } from '../core/linear-pattern.ts';
import { comparisonWarning } from '../evaluations/comparison-warning.ts';
import { fieldSchema } from '../queues/queue-fields.ts';
import { objectName } from '../records/object-name.ts';
import { versionsOfName } from '../records/read-objects.ts';
import { checkModels } from '../records/unlisted-model.ts';
import { cell, escapeInvisible } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

/** The members that each kind of scorer needs, and those that it can have. */
const membersOfKind = {
  equals: { needed: ['expected'], optional: ['ignore_case'] },
  contains: { needed: ['expected'], optional: ['ignore_case'] },
  matches: { needed: ['pattern'], optional: ['ignore_case'] },
  number_within: { needed: ['expected', 'tolerance'], optional: [] },
  json_valid: { needed: [], optional: [] },
  llm_judge: { needed: ['model', 'prompt'], optional: ['scale'] },
} as const satisfies Record<ComparisonScorer['kind'] | 'llm_judge', { needed: string[]; optional: string[] }>;

type Kind = keyof typeof membersOfKind;
const kinds = Object.keys(membersOfKind) as Kind[];

const scale = z
  .strictObject({
    type: z.enum(['boolean', 'number', 'integer', 'choice']),
    choices: z.array(z.string().min(1)).min(2).max(100).optional(),
    min: z.number().optional(),
    max: z.number().optional(),
  })
  .superRefine(({ type, choices, min, max }, context) => {
    const fault = (member: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [member], message });
    };
    const isNumeric = type === 'number' || type === 'integer';
    if ((choices !== undefined) !== (type === 'choice')) fault('choices', 'belongs to the type choice, which needs it');
    if (choices && new Set(choices).size < choices.length) fault('choices', 'has a value twice');
    for (const [member, bound] of Object.entries({ min, max })) {
      if ((bound !== undefined) !== isNumeric) fault(member, 'belongs to the types number and integer, which need it');
      if (type === 'integer' && bound !== undefined && !Number.isInteger(bound)) fault(member, 'must be an integer');
    }
    if (min !== undefined && max !== undefined && min >= max) fault('min', 'must be less than max');
  });
type Scale = z.output<typeof scale>;

const input = z
  .strictObject({
    name: objectName,
    kind: z.enum(kinds),
    expected: z.string().min(1).max(200).optional().describe('Column with the expected value.'),
    ignore_case: z.boolean().optional(),
    pattern: z.string().min(1).optional().describe('RE2 syntax.'),
    tolerance: z.number().min(0).optional(),
    model: z.string().min(1).optional(),
    prompt: z.string().min(1).max(100_000).optional().describe('With {output}, {COLUMN}.'),
    scale: scale.optional().describe('As in fields of queues: {type, choices, min, max}.'),
    description: z.string().optional(),
    project_id: projectArgument('Project of the scorer'),
  })
  .superRefine((args, context) => {
    for (const { member, message } of faultsOf(args)) context.addIssue({ code: 'custom', path: [member], message });
  });

const output = z.object({
  scorer_ref: z.string().describe('Reference to the version, for create_evaluation and read_object.'),
  existed: z.boolean().optional().describe('True if the same content existed already; absent if that is unknown.'),
  warnings: z.array(z.string()).optional(),
});

type CreatedScorer = z.output<typeof output>;

export const createScorerTool = defineTool({
  name: 'create_scorer',
  title: 'Create scorer',
  groups: ['evaluation'],
  uses: ['createObject'],
  description: `Stores a scorer of model outputs. llm_judge takes model, prompt and scale, matches a pattern, number_within also tolerance.
Example: {"name":"Right answer","kind":"equals","expected":"answer"}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ project_id, ...args }, context): Promise<CreatedScorer> {
    const project = projectOf({ project_id }, context);
    const versions = await versionsOfName(args.name, 'Scorer', project, context.service);
    const definition = await context.withoutSecrets(args);
    const models = definition.model === undefined ? [] : [definition.model];
    // Nothing is asked yet, so a model that is not listed is only a warning.
    const unlisted = await checkModels(models, { consequence: 'Nothing was stored', confirm: true }, context);
    const warnings = [
      ...(definition === args ? [] : ['Secrets in the definition were replaced by [secret].']),
      ...(unlisted === undefined ? [] : [unlisted]),
      ...(await comparisonWarning(definition.kind === 'llm_judge' ? [] : [shortName(args.name)], context.service)),
    ];
    const val =
      definition.kind === 'llm_judge' ? await judgeOf(definition, project, context) : comparisonOf(definition);
    const object_id = objectIdOf(args.name);
    const digest = await storeObject({ object_id, val }, project, context);
    return {
      scorer_ref: objectReference(project, object_id, digest),
      ...(versions && { existed: versions.some((version) => version.digest === digest) }),
      ...(warnings.length > 0 && { warnings }),
    };
  },

  render({ scorer_ref, existed, warnings = [] }: CreatedScorer) {
    return [`${existed ? 'Existed already' : 'Stored'}: ${cell(scorer_ref)}.`, ...warnings.map(escapeInvisible)].join(
      '\n',
    );
  },
});

type Arguments = z.output<typeof input>;

/** Returns the faults of a definition that its schema cannot express. */
function faultsOf({ kind, pattern, ignore_case, prompt, ...args }: Partial<Arguments> & { kind: Kind }) {
  const faults: { member: string; message: string }[] = [];
  const given: Record<string, unknown> = { pattern, ignore_case, prompt, ...args };
  const { needed, optional }: { needed: readonly string[]; optional: readonly string[] } = membersOfKind[kind];
  for (const member of new Set(Object.values(membersOfKind).flatMap(({ needed: a, optional: b }) => [...a, ...b]))) {
    const isGiven = given[member] !== undefined;
    if (!isGiven && needed.includes(member)) faults.push({ member, message: `is needed for the kind ${kind}` });
    if (isGiven && !needed.includes(member) && !optional.includes(member)) {
      faults.push({ member, message: `does not belong to the kind ${kind}` });
    }
  }
  if (pattern !== undefined) {
    try {
      compileLinearPattern(pattern);
    } catch (error) {
      faults.push({ member: 'pattern', message: (error as SyntaxError).message });
    }
  }
  const message = prompt === undefined ? undefined : faultOfPrompt(prompt);
  return message === undefined ? faults : [...faults, { member: 'prompt', message }];
}

function faultOfPrompt(prompt: string): string | undefined {
  const { names, loneBrace } = findPlaceholders([prompt]);
  if (loneBrace !== undefined) return `has a lone ${loneBrace}; write ${loneBrace}${loneBrace} for a brace`;
  if (!names.includes('output')) return 'must contain {output}, which stands for the output to judge';
  // Other programs that read the prompt take these characters as operators.
  const wrong = names.find((name) => !/^[^\s.[\]!:]+$/u.test(name) || /^\d+$/.test(name));
  return wrong === undefined
    ? undefined
    : `{${shortName(wrong)}} is no name of a column without spaces or . [ ] ! :, write {{ and }} for braces`;
}

function comparisonOf({ name, description, kind, expected, ignore_case, pattern, tolerance }: Arguments) {
  const members = { expected, ignore_case, pattern, tolerance };
  const given = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  return { ...classMembers('Scorer', comparisonScorerClass), name, description: description ?? null, kind, ...given };
}

/** Stores the model that judges, and returns the scorer that refers to it, in the form of the public service. */
async function judgeOf(args: Arguments, project_id: string, context: ToolContext): Promise<object> {
  const { name, description, model, prompt: scoring_prompt, scale: judged = { type: 'boolean' } } = args;
  const content = `Judge what the user sends. Reply with one JSON object with two members: "reasoning", one or two sentences, and "score", ${inWords(judged)}.`;
  const message = { role: 'system', content, name: null, function_call: null, tool_call_id: null };
  const object_id = `${objectIdOf(name).slice(0, maxModelNameChars)}-model`;
  const val = {
    name: object_id,
    llm_model_id: model,
    default_params: { messages_template: [message], response_format: 'json_object' },
  };
  const digest = await storeObject({ object_id, val, builtin_object_class: llmModelClass }, project_id, context);
  return {
    ...classMembers('Scorer', llmJudgeScorerClass),
    name,
    description: description ?? null,
    model: objectReference(project_id, object_id, digest),
    scoring_prompt,
    reply_schema: replySchema(judged),
  };
}

/** Characters of the name of a scorer that the name of its model has; with its ending it is a valid object name. */
const maxModelNameChars = 120;

function inWords({ type, choices, min, max }: Scale): string {
  if (type === 'boolean') return 'true or false';
  if (choices) return `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`;
  return `${type === 'integer' ? 'an integer' : 'a number'} from ${min} to ${max}`;
}

/** Returns the JSON Schema of a judge's reply. */
function replySchema(scale: Scale): Record<string, unknown> {
  const score = fieldSchema(scale);
  return { type: 'object', properties: { reasoning: { type: 'string' }, score }, required: ['score'] };
}

async function storeObject(
  object: { object_id: string; val: unknown; builtin_object_class?: string },
  project_id: string,
  { service }: ToolContext,
): Promise<string> {
  return (await service.call('createObject', { body: { obj: { project_id, ...object } } })).digest;
}
