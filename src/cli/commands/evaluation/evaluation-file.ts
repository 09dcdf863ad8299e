import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import { runLimits } from '../../../contract/evaluations.ts';
import { objectName } from '../../../contract/object-name.ts';
import { parseReference } from '../../../contract/references.ts';
import { issueWords } from '../../../contract/validation.ts';
import { isJsonObject, type Members } from '../../../core/json/json-object.ts';
import { createScorerTool } from '../../../tools/create-scorer.ts';
import { runSettings } from '../../../tools/run-evaluation.ts';
import { UsageError } from '../../terminal/report-failure.ts';
import { asShare } from '../../usage/flags.ts';
import { type FileFault, faultyFile, readNamedText, readYamlFile } from './yaml-file.ts';

/** Runs of one command: read_evaluation compares no more. */
export const maxRunsOfFile = 10;

const share = z.union([z.number(), z.string()]).transform((value, context) => {
  try {
    return asShare(String(value));
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a share from 0 to 1, or a percentage like 90%' });
    return z.NEVER;
  }
});
const names = z.array(z.string().min(1)).min(1);

/** A scorer that the file defines, with those that it joins in `options.scorers`. */
export interface DefinedScorer extends Members {
  name: string;
  options?: Members & { scorers?: (string | DefinedScorer)[] };
}

/** A name or reference of a stored scorer, or the arguments of create_scorer. */
const scorer = z.custom<string | DefinedScorer>().superRefine((value, context) => {
  for (const { path, message } of faultsOfScorer(value)) {
    context.addIssue({ code: 'custom', path: [...path], message });
  }
});

/** Levels of scorers that join others. */
const maxScorerDepth = 5;

function faultsOfScorer(value: unknown, depth = 0): FileFault[] {
  if (typeof value === 'string' && value !== '') return [];
  if (!isJsonObject(value))
    return [{ path: [], message: 'must be the name of a scorer, or an object that defines one' }];
  if (depth > maxScorerDepth) return [{ path: [], message: 'joins scorers that join others, on too many levels' }];
  const parts = joinedScorers(value);
  const foreign = ['try_on', 'project_id'].filter((name) => Object.hasOwn(value, name));
  const options = isJsonObject(value.options) ? value.options : {};
  const checked = parts.length === 0 ? value : { ...value, options: { ...options, scorers: parts.map(String) } };
  const { error } = createScorerTool.input.safeParse(checked);
  return [
    ...foreign.map((name) => ({ path: [name], message: 'does not belong in a file' })),
    ...(error?.issues ?? []).flatMap(faultsOfIssue),
    ...parts.flatMap((part, index) =>
      faultsOfScorer(part, depth + 1).map((fault) => ({
        ...fault,
        path: ['options', 'scorers', index, ...fault.path],
      })),
    ),
  ];
}

/** Returns the scorers that a scorer joins. */
export function joinedScorers(value: Members): unknown[] {
  const { scorers } = isJsonObject(value.options) ? value.options : {};
  return Array.isArray(scorers) ? scorers : [];
}

const oneOf = (members: readonly string[]) => (value: object, context: z.RefinementCtx) => {
  if (members.filter((member) => Object.hasOwn(value, member)).length === 1) return;
  context.addIssue({ code: 'custom', message: `needs one of ${members.join(', ')}` });
};

/** A prompt: its text, or an object that says where it is. */
const prompt = z.preprocess(
  (value) => (typeof value === 'string' ? { text: value } : value),
  z
    .strictObject({
      text: z.string().min(1).optional().describe('Text with {column}, or reference to a stored prompt.'),
      file: z.string().min(1).optional().describe('File with the text; one that ends in .json has a list of messages.'),
      messages: z
        .array(z.looseObject({ role: z.string().min(1) }))
        .min(1)
        .optional(),
    })
    .superRefine(oneOf(['text', 'file', 'messages'])),
);

/** The schema of the file that `heddle evaluation run --config` reads. */
const evaluationFile = z.strictObject({
  name: objectName,
  description: z.string().optional(),
  dataset: z
    .strictObject({
      name: objectName.optional(),
      rows: z.array(z.record(z.string(), z.unknown())).min(1).optional(),
      file: z.string().min(1).optional(),
      stored: z.string().min(1).optional(),
    })
    .superRefine(oneOf(['rows', 'file', 'stored'])),
  scorers: z.array(scorer).min(1).max(50),
  models: names,
  prompts: z.array(prompt).min(1).optional(),
  trials: z.int().min(1).optional(),
  ...runSettings,
  budget: runLimits.optional(),
  thresholds: z
    .strictObject({
      min_pass_rate: share.optional(),
      min_mean: z.number().optional(),
      max_errors: share.optional(),
      scorers: names.optional(),
    })
    .optional(),
  compare: z.string().min(1).optional(),
  fail_if_worse: z.boolean().optional(),
});

/** An evaluation that a file defines, with how it is run. */
export type EvaluationFile = z.output<typeof evaluationFile>;

/** A model, with a prompt unless it is a stored one that has its own. */
export interface ModelAndPrompt {
  model: string;
  prompt?: string;
  messages?: unknown;
}

/**
 * Reads a file that defines an evaluation. Files that it names lie in its folder, or in one from there.
 * @throws UsageError with the line of each fault.
 */
export function readEvaluationFile(file: string): EvaluationFile & { folder: string; pairs: ModelAndPrompt[] } {
  const { value, lineOf } = readYamlFile(file);
  const { data, error } = evaluationFile.safeParse(value, { reportInput: false });
  const folder = dirname(resolve(file));
  const faults = error ? error.issues.flatMap(faultsOfIssue) : faultsOfParts(data);
  const named = faults.map(({ path, message }) => ({ line: lineOf(path), message: `${pathText(path)}${message}` }));
  if (!data || faults.length > 0)
    throw faultyFile(
      file,
      named.sort((a, b) => a.line - b.line),
    );
  return { ...data, folder, pairs: pairsOf(data, folder) };
}

/** Returns the faults that lie between members, not in one. */
function faultsOfParts({
  scorers,
  models,
  prompts = [],
  baseline,
  compare,
  fail_if_worse,
}: EvaluationFile): FileFault[] {
  const faults: FileFault[] = [];
  const plain = models.filter((model) => !isStored(model));
  const count = models.length - plain.length + plain.length * prompts.length;
  if (plain.length > 0 && prompts.length === 0) faults.push({ path: ['models'], message: 'needs prompts' });
  if (plain.length === 0 && prompts.length > 0) {
    faults.push({ path: ['prompts'], message: 'belongs to no model: stored models have their own messages' });
  }
  const limit = compare === undefined ? maxRunsOfFile : maxRunsOfFile - 1;
  if (count > limit) {
    faults.push({
      path: ['models'],
      message: `gives ${count} runs with the prompts; one command compares ${maxRunsOfFile} at most${compare === undefined ? '' : ', with that of compare'}`,
    });
  }
  if (baseline !== undefined && count > 1) {
    faults.push({ path: ['baseline'], message: 'can name one run only, and there are several models or prompts' });
  }
  if (fail_if_worse && compare === undefined) faults.push({ path: ['fail_if_worse'], message: 'needs compare' });
  const seen = new Set<string>();
  for (const { path, name } of definedNames(scorers)) {
    if (seen.has(name)) faults.push({ path, message: 'is the name of another scorer of the file' });
    seen.add(name);
  }
  return faults;
}

function definedNames(
  scorers: readonly unknown[],
  path: readonly PropertyKey[] = ['scorers'],
): (FileFault & { name: string })[] {
  return scorers.flatMap((one, index) => {
    if (!isJsonObject(one)) return [];
    const at = [...path, index];
    const inside = definedNames(joinedScorers(one), [...at, 'options', 'scorers']);
    return [...inside, { path: [...at, 'name'], name: String(one.name).toLowerCase(), message: '' }];
  });
}

function isStored(model: string): boolean {
  return parseReference(model) !== undefined;
}

function pairsOf({ models, prompts = [] }: EvaluationFile, folder: string): ModelAndPrompt[] {
  const given = prompts.map(({ text, file, messages }) => {
    if (messages) return { messages };
    return file === undefined ? { prompt: text! } : promptOfFile(resolve(folder, file));
  });
  return models.flatMap((model) => (isStored(model) ? [{ model }] : given.map((prompt) => ({ model, ...prompt }))));
}

/** Reads a prompt: a list of messages from a file that ends in .json, else text. @throws UsageError if it cannot be read. */
function promptOfFile(file: string): Omit<ModelAndPrompt, 'model'> {
  return /\.json$/i.test(file) ? { messages: readMessages(file) } : { prompt: readNamedText(file) };
}

/** Reads the JSON of a file with messages. @throws UsageError if it cannot be read. */
export function readMessages(file: string): unknown {
  const text = readNamedText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file} is not valid JSON: ${(error as Error).message}`);
  }
}

/** Returns the faults of an issue: one for each name that is not known. */
function faultsOfIssue(issue: z.core.$ZodIssue): FileFault[] {
  // The message goes on after the path.
  const message = issueWords(issue).replace(/^Must/, 'must');
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, message }];
  return issue.keys.map((key) => ({ path: [...issue.path, key], message: 'is not a known member' }));
}

function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('');
  return text === '' ? '' : `${text.slice(1)} `;
}
