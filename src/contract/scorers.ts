import * as z from 'zod';
import { ownMember } from '../core/json/member-at.ts';
import { projectId } from './identifiers.ts';

/** One message of a template; its `{name}` placeholders take values of a row. */
const templateMessage = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({}))]).nullish(),
});

/** The class of {@link llmModel}. */
export const llmModelClass = 'LLMStructuredCompletionModel';

/** A stored model: a model of inference with the messages and parameters to call it with. */
export const llmModel = z.looseObject({
  name: z.string().nullish(),
  description: z.string().nullish(),
  llm_model_id: z.string().describe('Model of inference.'),
  default_params: z
    .looseObject({
      messages_template: z
        .array(templateMessage)
        .nullish()
        .describe('Messages that begin every request. An evaluation fills {column} placeholders from the row.'),
      prompt: z.string().nullish().describe('Reference to a stored prompt, instead of messages_template.'),
      temperature: z.number().nullish(),
      top_p: z.number().nullish(),
      max_tokens: z.int().nullish(),
      presence_penalty: z.number().nullish(),
      frequency_penalty: z.number().nullish(),
      stop: z.array(z.string()).nullish(),
      n_times: z.int().nullish(),
      functions: z.array(z.looseObject({})).nullish(),
      response_format: z.string().nullish().describe('text, or json_object for a reply that is parsed.'),
    })
    .nullish(),
});
export type LlmModel = z.infer<typeof llmModel>;

const only_if = z
  .string()
  .nullish()
  .describe(
    'Column that says which rows are scored: those where it is set. The others, where it is missing, null, false or empty, have the score null.',
  );

/** The class of {@link llmJudgeScorer}. */
export const llmJudgeScorerClass = 'LLMAsAJudgeScorer';

/**
 * A scorer that asks a model to judge an output. The messages of its model come before the prompt. Heddle's own service fills
 * the placeholders of both, the public service only those of the prompt.
 */
export const llmJudgeScorer = z.looseObject({
  name: z.string().nullish(),
  description: z.string().nullish(),
  column_map: z.record(z.string(), z.string()).nullish().describe('Column of the dataset for each placeholder.'),
  model: z.union([z.string(), llmModel]).describe('The stored model, or the reference to it.'),
  scoring_prompt: z
    .string()
    .nullish()
    .describe(
      'User message, or the reference to a stored prompt. {output} stands for the output to judge, {inputs} for the row, any other name for a column; {{ and }} for braces.',
    ),
  scoring_prompt_ref: z.string().nullish().describe('Reference to a stored prompt, instead of scoring_prompt.'),
  reply_schema: z
    .record(z.string(), z.unknown())
    .nullish()
    .describe('JSON Schema that the parsed reply must fit. Other programs than heddle ignore it.'),
  only_if,
});
export type LlmJudgeScorer = z.infer<typeof llmJudgeScorer>;

/** Returns the column of the row that fills a placeholder of a judge; undefined for `output` and `inputs`, the whole row. */
export function columnOfPlaceholder(name: string, columnMap: LlmJudgeScorer['column_map']): string | undefined {
  if (name === 'output') return undefined;
  if (columnMap && Object.hasOwn(columnMap, name)) return ownMember(columnMap, name) as string;
  return name === 'inputs' ? undefined : name;
}

/** The class of {@link comparisonScorer}, {@link combinedScorer}, {@link pairwiseScorer} and {@link endpointScorer}. */
export const comparisonScorerClass = 'HeddleScorer';

const scorerMembers = {
  name: z.string().nullish(),
  description: z.string().nullish(),
  negate: z.boolean().nullish().describe('Passes what would fail, and fails what would pass.'),
  only_if,
};
const expected = z.string().describe('Column with the expected value.');
const ignore_case = z.boolean().nullish();
const jsonSchema = z.record(z.string(), z.unknown());
const limit = z.number().positive();

/** Returns the schema of the scorers of one kind. */
function scorerOf<Kind extends string, Members extends z.ZodRawShape>(kind: Kind, members: Members) {
  return z.looseObject({ ...scorerMembers, kind: z.literal(kind), ...members });
}

/** A tool call that an output must have. */
const expectedToolCall = z.looseObject({
  name: z.string(),
  arguments: jsonSchema.nullish().describe('JSON Schema of the arguments; any by default.'),
});

/**
 * A scorer that needs no model: each output passes or fails. Values that are no strings are compared as their canonical
 * JSON, and white space around text does not count.
 */
export const comparisonScorer = z.discriminatedUnion('kind', [
  scorerOf('equals', { expected, ignore_case }),
  scorerOf('contains', { expected, ignore_case }),
  scorerOf('matches', {
    pattern: z.string().describe('Regular expression that some part of the output must match.'),
    ignore_case,
  }),
  scorerOf('number_within', {
    expected,
    tolerance: z.number().min(0).describe('Greatest difference from the expected number that passes.'),
  }),
  scorerOf('text_within', {
    expected,
    tolerance: z.number().min(0).describe('Most characters to insert, delete or replace.'),
    ignore_case,
  }),
  scorerOf('json_valid', {}),
  scorerOf('json_schema', {
    schema: jsonSchema.describe('JSON Schema that the output, or the JSON in its text, must fit.'),
  }),
  scorerOf('tool_calls', {
    calls: z.array(expectedToolCall).describe('Tool calls that the output must have; none of others with exact.'),
    ordered: z.boolean().nullish().describe('They must come in this order.'),
    exact: z.boolean().nullish(),
  }),
  scorerOf('latency_within', { limit: limit.describe('Seconds.') }),
  scorerOf('cost_within', { limit: limit.describe('USD, by the stored prices of the models.') }),
]);
export type ComparisonScorer = z.infer<typeof comparisonScorer>;

/** A scorer that joins the scores of others. */
export const combinedScorer = z.looseObject({
  ...scorerMembers,
  kind: z.enum(['all_of', 'any_of']),
  scorers: z.array(z.string()).min(1).max(20).describe('References to the scorers.'),
  weights: z.array(z.number().min(0)).nullish().describe('Weights of the scorers in their order; 1 by default.'),
  threshold: limit
    .max(1)
    .nullish()
    .describe('Share of the weights that must pass; by default all of them, or for any_of any.'),
});
export type CombinedScorer = z.infer<typeof combinedScorer>;

/** A judge that compares the output with a value of the row, without knowing which is which. */
export const pairwiseScorer = z.looseObject({
  ...scorerMembers,
  kind: z.literal('pairwise'),
  model: z.union([z.string(), llmModel]).describe('The stored model, or the reference to it.'),
  prompt: z.string().describe('{first} and {second} stand for the two answers, any other name for a column.'),
  expected: z.string().describe('Column with the other answer.'),
  seed: z.int().nullish().describe('Draws which answer comes first.'),
  both_orders: z.boolean().nullish().describe('Asks twice, the second time in the other order.'),
});
export type PairwiseScorer = z.infer<typeof pairwiseScorer>;

/** A scorer that is a program of the user, at an address that the settings of the service name. */
export const endpointScorer = z.looseObject({
  ...scorerMembers,
  kind: z.literal('endpoint'),
  endpoint: z.string().describe('Name of the address in the settings.'),
});
export type EndpointScorer = z.infer<typeof endpointScorer>;

/** A scorer that heddle can run. */
export type RunnableScorer =
  | { type: 'judge'; scorer: LlmJudgeScorer }
  | { type: 'comparison'; scorer: ComparisonScorer }
  | { type: 'combined'; scorer: CombinedScorer }
  | { type: 'pairwise'; scorer: PairwiseScorer }
  | { type: 'endpoint'; scorer: EndpointScorer };

/** The kinds of scorers of the class {@link comparisonScorerClass}. */
export type HeddleScorerKind = Exclude<RunnableScorer, { type: 'judge' }>['scorer']['kind'];

const typesOfHeddle = [
  ['comparison', comparisonScorer],
  ['combined', combinedScorer],
  ['pairwise', pairwiseScorer],
  ['endpoint', endpointScorer],
] as const;

/**
 * Returns the scorer that a stored object is; undefined for one that heddle cannot run, such as a scorer that is code.
 */
export function parseScorer(val: unknown): RunnableScorer | undefined {
  const className = ownMember(val, '_class_name');
  if (className === llmJudgeScorerClass) {
    const { data: scorer } = llmJudgeScorer.safeParse(val);
    return scorer && { type: 'judge', scorer };
  }
  if (className !== comparisonScorerClass) return undefined;
  for (const [type, schema] of typesOfHeddle) {
    const { data: scorer } = schema.safeParse(val);
    if (scorer) return { type, scorer } as RunnableScorer;
  }
  return undefined;
}

/** Returns the stored model that an object is; undefined for any other object. */
export function parseLlmModel(val: unknown): LlmModel | undefined {
  return ownMember(val, '_class_name') === llmModelClass ? llmModel.safeParse(val).data : undefined;
}

/** Rows or calls that a scorer is tried on. */
export const maxTried = 20;

export const tryScorerRequest = z.object({
  project_id: projectId,
  scorer: z.record(z.string(), z.unknown()).describe('Value of the scorer, as it would be stored.'),
  rows: z
    .array(z.record(z.string(), z.unknown()))
    .max(maxTried)
    .nullish()
    .describe('Rows with the member output. One with call_id and no output stands for the recorded call.'),
});

export const tryScorerResponse = z.looseObject({
  results: z.array(
    z.looseObject({
      output: z.unknown().optional().describe('Null if the scorer does not apply to the row.'),
      exception: z.string().nullish().describe('Why there is no score.'),
    }),
  ),
});
