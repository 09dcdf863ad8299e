import * as z from 'zod';
import { ownMember } from '../core/json/member-at.ts';

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
});
export type LlmJudgeScorer = z.infer<typeof llmJudgeScorer>;

/** Returns the column of the row that fills a placeholder of a judge; undefined for `output` and `inputs`, the whole row. */
export function columnOfPlaceholder(name: string, columnMap: LlmJudgeScorer['column_map']): string | undefined {
  if (name === 'output') return undefined;
  if (columnMap && Object.hasOwn(columnMap, name)) return ownMember(columnMap, name) as string;
  return name === 'inputs' ? undefined : name;
}

/** The class of {@link comparisonScorer}. */
export const comparisonScorerClass = 'HeddleScorer';

const scorerNames = { name: z.string().nullish(), description: z.string().nullish() };
const expected = z.string().describe('Column with the expected value.');
const ignore_case = z.boolean().nullish();

/**
 * A scorer that needs no model: each output passes or fails. Values that are no strings are compared as their canonical
 * JSON, and white space around text does not count.
 */
export const comparisonScorer = z.discriminatedUnion('kind', [
  z.looseObject({ ...scorerNames, kind: z.literal('equals'), expected, ignore_case }),
  z.looseObject({ ...scorerNames, kind: z.literal('contains'), expected, ignore_case }),
  z.looseObject({
    ...scorerNames,
    kind: z.literal('matches'),
    pattern: z.string().describe('Regular expression that some part of the output must match.'),
    ignore_case,
  }),
  z.looseObject({
    ...scorerNames,
    kind: z.literal('number_within'),
    expected,
    tolerance: z.number().min(0).describe('Greatest difference from the expected number that passes.'),
  }),
  z.looseObject({ ...scorerNames, kind: z.literal('json_valid') }),
]);
export type ComparisonScorer = z.infer<typeof comparisonScorer>;

/** A scorer that heddle can run. */
export type RunnableScorer =
  | { type: 'judge'; scorer: LlmJudgeScorer }
  | { type: 'comparison'; scorer: ComparisonScorer };

const classed = z.looseObject({ _class_name: z.string() });

/**
 * Returns the scorer that a stored object is; undefined for one that heddle cannot run, such as a scorer that is code.
 */
export function parseScorer(val: unknown): RunnableScorer | undefined {
  const className = classed.safeParse(val).data?._class_name;
  if (className === llmJudgeScorerClass) {
    const { data: scorer } = llmJudgeScorer.safeParse(val);
    return scorer && { type: 'judge', scorer };
  }
  if (className === comparisonScorerClass) {
    const { data: scorer } = comparisonScorer.safeParse(val);
    return scorer && { type: 'comparison', scorer };
  }
  return undefined;
}

/** Returns the stored model that an object is; undefined for any other object. */
export function parseLlmModel(val: unknown): LlmModel | undefined {
  const className = classed.safeParse(val).data?._class_name;
  return className === llmModelClass ? llmModel.safeParse(val).data : undefined;
}
