import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, emptyHome, run, temporaryFolder } from './heddle.ts';

const questions = ['first', 'second', 'third'];

/** Stores the evaluation "Yes" of three questions in an empty home, with a scripted model behind the embedded service. */
export async function prepareEvaluation(modelProvider: string): Promise<Record<string, string>> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder, { HEDDLE_MODEL_PROVIDER_URL: modelProvider });
  const file = join(folder, 'rows.jsonl');
  writeFileSync(file, questions.map((question) => JSON.stringify({ question, wanted: 'yes' })).join('\n'));
  await run(['service', 'put-dataset', 'rows', file, '--project', 'demo/support'], environment);
  const scorer = await call('create_scorer', { name: 'Says yes', kind: 'contains', expected: 'wanted' }, environment);
  const definition = {
    name: 'Yes',
    dataset: 'weave:///demo/support/object/rows:latest',
    scorers: [scorer.result.scorer_ref],
  };
  expect((await call('create_evaluation', definition, environment)).code).toBe(0);
  return environment;
}

/** Arguments that run the evaluation, one question after the other. */
export const runArgs = ['evaluation', 'run', 'Yes', '--model', 'small', '--prompt', '{question}', '--concurrency', '1'];
