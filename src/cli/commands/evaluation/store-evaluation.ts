import { resolve } from 'node:path';
import { readObjects } from '../import/read-rows.ts';
import { type DefinedScorer, type EvaluationFile, joinedScorers } from './evaluation-file.ts';
import type { ToolRunner } from './with-tools.ts';

/**
 * Stores the dataset, the scorers and the evaluation that a file defines. What exists already stays as it is.
 * @returns the reference to the evaluation.
 * @throws HeddleError for a file of rows that cannot be read, before anything is stored, and as the tools do.
 */
export async function storeEvaluationFile(
  { name, description, dataset, scorers, trials, folder }: EvaluationFile & { folder: string },
  tools: ToolRunner,
): Promise<string> {
  const { stored, file } = dataset;
  const rows = file === undefined ? dataset.rows : await readObjects(resolve(folder, file), () => false);
  const datasetRef =
    stored ?? (await tools.run('create_dataset', { name: dataset.name ?? `${name} rows`, rows })).dataset_ref;
  const references: string[] = [];
  for (const scorer of scorers) references.push(await storeScorer(scorer, tools));
  const { evaluation_ref } = await tools.run('create_evaluation', {
    name,
    dataset: datasetRef,
    scorers: references,
    ...(description !== undefined && { description }),
    ...(trials !== undefined && { trials }),
  });
  return evaluation_ref;
}

/** Stores a scorer, after those that it joins, and returns the reference to it, or the name of one that is stored. */
async function storeScorer(scorer: string | DefinedScorer, tools: ToolRunner): Promise<string> {
  if (typeof scorer === 'string') return scorer;
  const parts: string[] = [];
  for (const part of joinedScorers(scorer)) parts.push(await storeScorer(part as string | DefinedScorer, tools));
  const definition = parts.length === 0 ? scorer : { ...scorer, options: { ...scorer.options, scorers: parts } };
  return (await tools.run('create_scorer', definition)).scorer_ref;
}
