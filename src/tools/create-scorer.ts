import * as z from 'zod';
import { objectName } from '../contract/object-name.ts';
import { classMembers } from '../contract/objects.ts';
import { findPlaceholders } from '../contract/prompts.ts';
import { objectIdOf, objectReference } from '../contract/references.ts';
import {
  comparisonScorerClass,
  type HeddleScorerKind,
  llmJudgeScorerClass,
  llmModelClass,
  maxTried,
} from '../contract/scorers.ts';
import { compileLinearPattern } from '../core/linear-pattern.ts';
import { comparisonWarning } from '../evaluations/comparison-warning.ts';
import { findScorers } from '../evaluations/find-scorers.ts';
import { fieldSchema } from '../queues/queue-fields.ts';
import { derivedModel } from '../records/derived-name.ts';
import { comparedWith, versionMembers, versionSentence, versionsOfName } from '../records/read-objects.ts';
import { checkModels } from '../records/unlisted-model.ts';
import { cell, compactTable, escapeInvisible } from '../text/compact-table.ts';
import { shortName } from '../text/names.ts';
import { defineTool, projectArgument, projectOf, type ToolContext } from './definition/tool.ts';

/** The members that each kind of scorer needs, and those that it can have besides negate and only_if. */
const membersOfKind = {
  equals: { needed: ['expected'], optional: ['ignore_case'] },
  contains: { needed: ['expected'], optional: ['ignore_case'] },
  matches: { needed: ['pattern'], optional: ['ignore_case'] },
  number_within: { needed: ['expected', 'tolerance'], optional: [] },
  text_within: { needed: ['expected', 'tolerance'], optional: ['ignore_case'] },
  json_valid: { needed: [], optional: [] },
  json_schema: { needed: ['schema'], optional: [] },
  tool_calls: { needed: ['calls'], optional: ['ordered', 'exact'] },
  latency_within: { needed: ['limit'], optional: [] },
  cost_within: { needed: ['limit'], optional: [] },
  all_of: { needed: ['scorers'], optional: ['weights', 'threshold'] },
  any_of: { needed: ['scorers'], optional: ['weights', 'threshold'] },
  llm_judge: { needed: ['model', 'prompt'], optional: ['scale'] },
  pairwise: { needed: ['model', 'prompt', 'expected'], optional: ['seed', 'both_orders'] },
  endpoint: { needed: ['endpoint'], optional: [] },
} as const satisfies Record<HeddleScorerKind | 'llm_judge', { needed: string[]; optional: string[] }>;

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

/** What the kinds need that few use. */
const options = z.strictObject({
  limit: z.number().positive().optional().describe('Seconds, or USD.'),
  schema: z.record(z.string(), z.unknown()).optional().describe('JSON Schema of the output.'),
  calls: z
    .array(z.strictObject({ name: z.string().min(1), arguments: z.record(z.string(), z.unknown()).optional() }))
    .min(1)
    .max(100)
    .optional()
    .describe('Expected tool calls; arguments is a JSON Schema.'),
  ordered: z.boolean().optional().describe('In this order.'),
  exact: z.boolean().optional().describe('And no others.'),
  scorers: z.array(z.string().min(1)).min(1).max(20).optional().describe('Names or references.'),
  weights: z.array(z.number().min(0)).optional().describe('One for each of scorers.'),
  threshold: z.number().positive().max(1).optional().describe('Share of the weights that must pass.'),
  seed: z.int().optional().describe('Draws which answer comes first.'),
  both_orders: z.boolean().optional().describe('Asks in both orders.'),
  endpoint: z.string().min(1).optional().describe('Name in the setting HEDDLE_SCORER_ENDPOINTS.'),
  only_if: z.string().min(1).max(200).optional().describe('Column; rows where it is not set are not scored.'),
});
const optionNames = new Set(Object.keys(options.shape));

const input = z
  .strictObject({
    name: objectName,
    kind: z.enum(kinds),
    expected: z.string().min(1).max(200).optional().describe('Column to compare with.'),
    ignore_case: z.boolean().optional(),
    pattern: z.string().min(1).optional(),
    tolerance: z.number().min(0).optional(),
    model: z.string().min(1).optional(),
    prompt: z.string().min(1).max(100_000).optional().describe('With {output}, {COLUMN}.'),
    scale: scale.optional().describe('As in fields: {type, choices, min, max}.'),
    options: options.optional().describe('As in errors.'),
    negate: z.boolean().optional(),
    description: z.string().optional(),
    try_on: z
      .array(z.record(z.string(), z.unknown()))
      .min(1)
      .max(maxTried)
      .optional()
      .describe('Rows with output, or {call_id}; stores nothing.'),
    project_id: projectArgument('Project of the scorer'),
  })
  .superRefine((args, context) => {
    for (const { member, message } of faultsOf(args)) context.addIssue({ code: 'custom', path: [member], message });
  });

const output = z.object({
  scorer_ref: z.string().optional().describe('Reference to the version, for create_evaluation and read_object.'),
  results: z.array(z.record(z.string(), z.unknown())).optional().describe('Of try_on: output or exception.'),
  ...versionMembers,
  warnings: z.array(z.string()).optional(),
});

type CreatedScorer = z.output<typeof output>;

export const createScorerTool = defineTool({
  name: 'create_scorer',
  title: 'Create scorer',
  groups: ['evaluation'],
  // And tryScorer for try_on, which stores nothing.
  uses: ['createObject'],
  description: `Stores a scorer of model outputs. llm_judge takes model, prompt and scale.
Example: {"name":"Right","kind":"equals","expected":"answer"}`,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input,
  output,

  async run({ project_id, try_on, ...args }, context): Promise<CreatedScorer> {
    const project = projectOf({ project_id }, context);
    const versions = await versionsOfName(args.name, 'Scorer', project, context.service);
    const definition = await context.withoutSecrets(args);
    const { scorers } = definition.options ?? {};
    if (scorers) {
      definition.options = { ...definition.options, scorers: await findScorers(scorers, project, context.service) };
    }
    const models = definition.model === undefined ? [] : [definition.model];
    const unlisted = await checkModels(models, { consequence: 'Nothing was stored', confirm: true }, context);
    const warnings = [
      ...(definition === args ? [] : ['Secrets in the definition were replaced by [secret].']),
      ...(unlisted === undefined ? [] : [unlisted]),
      ...(await comparisonWarning(definition.kind === 'llm_judge' ? [] : [shortName(args.name)], context.service)),
    ];
    const val = await scorerOf(definition, !try_on, project, context);
    if (try_on) {
      const body = { project_id: project, scorer: val, rows: try_on };
      const { results } = await context.service.call('tryScorer', { body });
      return { results, ...comparedWith(versions), ...(warnings.length > 0 && { warnings }) };
    }
    const object_id = objectIdOf(args.name);
    const digest = await storeObject({ object_id, val }, project, context);
    return {
      scorer_ref: objectReference(project, object_id, digest),
      ...comparedWith(versions, digest),
      ...(warnings.length > 0 && { warnings }),
    };
  },

  render({ scorer_ref, results, warnings = [], ...facts }: CreatedScorer) {
    const versions = versionSentence(facts);
    if (scorer_ref === undefined) {
      const lines = (results ?? []).map((result, index) => ({ row: index + 1, ...result }));
      return [`Nothing was stored.${versions}`, compactTable(lines, ['row']), ...warnings.map(escapeInvisible)].join(
        '\n',
      );
    }
    const verb = facts.existed ? 'Existed already' : 'Stored';
    return [`${verb}: ${cell(scorer_ref)}.${versions}`, ...warnings.map(escapeInvisible)].join('\n');
  },
});

type Arguments = Omit<z.output<typeof input>, 'project_id' | 'try_on'>;

/** Returns the faults of a definition that its schema cannot express. */
function faultsOf({ kind, pattern, prompt, ...args }: Partial<Arguments> & { kind: Kind }) {
  const faults: { member: string; message: string }[] = [];
  const { options: givenOptions = {}, ...others } = args;
  const given = new Map<string, unknown>(Object.entries({ pattern, prompt, ...others, ...givenOptions }));
  const { needed, optional }: { needed: readonly string[]; optional: readonly string[] } = membersOfKind[kind];
  for (const member of new Set(Object.values(membersOfKind).flatMap(({ needed: a, optional: b }) => [...a, ...b]))) {
    const isGiven = given.get(member) !== undefined;
    const place = optionNames.has(member) ? 'options' : member;
    const subject = optionNames.has(member) ? `${shapeOfOption(member)} ` : '';
    if (!isGiven && needed.includes(member)) {
      const others = optional.filter((name) => optionNames.has(name)).map(shapeOfOption);
      const and = others.length === 0 ? '' : `; it can also have ${others.join(', ')}`;
      faults.push({ member: place, message: `${subject}is needed for the kind ${kind}${subject && and}` });
    }
    if (isGiven && !needed.includes(member) && !optional.includes(member)) {
      faults.push({ member: place, message: `${subject}does not belong to the kind ${kind}` });
    }
  }
  if (kind === 'llm_judge' && args.negate !== undefined) {
    faults.push({ member: 'negate', message: `does not belong to the kind ${kind}` });
  }
  if (givenOptions.weights && givenOptions.weights.length !== givenOptions.scorers?.length) {
    faults.push({ member: 'options', message: 'weights needs one number for each of scorers' });
  }
  if (pattern !== undefined) {
    try {
      compileLinearPattern(pattern);
    } catch (error) {
      faults.push({ member: 'pattern', message: (error as SyntaxError).message });
    }
  }
  const message = prompt === undefined ? undefined : faultOfPrompt(prompt, kind);
  return message === undefined ? faults : [...faults, { member: 'prompt', message }];
}

/** Returns an option with what it means, like `limit (Seconds, or USD.)`. */
function shapeOfOption(name: string): string {
  const description = new Map<string, { description?: string | undefined }>(Object.entries(options.shape)).get(name);
  return `${name} (${description?.description ?? ''})`;
}

function faultOfPrompt(prompt: string, kind: Kind): string | undefined {
  const { names, loneBrace } = findPlaceholders([prompt]);
  if (loneBrace !== undefined) return `has a lone ${loneBrace}; write ${loneBrace}${loneBrace} for a brace`;
  if (kind === 'pairwise') {
    if (!names.includes('first') || !names.includes('second')) {
      return 'must contain {first} and {second}, which stand for the two answers';
    }
    if (names.includes('output')) return 'must not contain {output}, which would show the judge which answer it is';
  } else if (!names.includes('output')) return 'must contain {output}, which stands for the output to judge';
  // Other programs that read the prompt take these characters as operators.
  const wrong = names.find((name) => !/^[^\s.[\]!:]+$/u.test(name) || /^\d+$/.test(name));
  return wrong === undefined
    ? undefined
    : `{${shortName(wrong)}} is no name of a column without spaces or . [ ] ! :, write {{ and }} for braces`;
}

/**
 * Returns the value of a scorer.
 * @param isStored false if nothing may be stored, so that its model becomes a part of it.
 */
async function scorerOf(
  { name, description, kind, model, prompt, scale: judged = { type: 'boolean' }, options, ...members }: Arguments,
  isStored: boolean,
  project_id: string,
  context: ToolContext,
): Promise<Record<string, unknown>> {
  const named = { name, description: description ?? null };
  const modelWith = (content: string): Promise<unknown> => {
    const object_id = `${objectIdOf(name).slice(0, maxModelNameChars)}-model`;
    const message = { role: 'system', content, name: null, function_call: null, tool_call_id: null };
    const default_params = { messages_template: [message], response_format: 'json_object' };
    return modelOf(
      { object_id, val: { name: object_id, description: derivedModel, llm_model_id: model, default_params } },
      isStored,
      project_id,
      context,
    );
  };
  const given = Object.fromEntries(
    Object.entries({ ...members, ...options }).filter(([, value]) => value !== undefined),
  );
  if (kind === 'llm_judge') {
    // In the form of the public service.
    return {
      ...classMembers('Scorer', llmJudgeScorerClass),
      ...named,
      model: await modelWith(
        `Judge what the user sends. Reply with one JSON object with two members: "reasoning", one or two sentences, and "score", ${inWords(judged)}.`,
      ),
      scoring_prompt: prompt,
      reply_schema: replySchema(judged),
      ...given,
    };
  }
  return {
    ...classMembers('Scorer', comparisonScorerClass),
    ...named,
    kind,
    ...given,
    ...(kind === 'pairwise' && {
      model: await modelWith(
        'Compare the two answers that the user sends. Reply with one JSON object with two members: "reasoning", one or two sentences, and "better", "first", "second" or "tie".',
      ),
      prompt,
    }),
  };
}

/** Stores the model that judges and returns the reference to it, or returns the model itself. */
async function modelOf(
  object: { object_id: string; val: Record<string, unknown> },
  isStored: boolean,
  project_id: string,
  context: ToolContext,
): Promise<unknown> {
  if (!isStored) return object.val;
  const digest = await storeObject({ ...object, builtin_object_class: llmModelClass }, project_id, context);
  return objectReference(project_id, object.object_id, digest);
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
