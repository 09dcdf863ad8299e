import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { faultsOfItems } from '../changes.ts';
import type { Job } from '../job.ts';
import { project, type Workspace } from '../workspace.ts';

const calls = Array.from({ length: 24 }, (_, index) => ({
  call_id: `check-${String(index + 1).padStart(2, '0')}`,
  inputs: { question: `What is ${index + 2} times ${index + 3}?` },
  output: { answer: String((index + 2) * (index + 3) + (index % 4 === 1 ? 1 : 0)) },
}));

/** The questions and answers of the items that Ada judged as not correct. */
const failures = calls
  .filter((_, index) => index % 4 === 1)
  .map(({ inputs: { question }, output: { answer } }) => ({ question, answer }));

const datasetRows = z.array(z.looseObject({ question: z.unknown(), answer: z.unknown() }));

/** Returns the rows of a dataset, which it has itself or in a table. */
async function rowsOf(val: unknown, client: Awaited<ReturnType<Workspace['client']>>): Promise<unknown> {
  const { rows } = val as { rows?: unknown };
  const digest = /\/table\/(\w+)$/.exec(String(rows))?.[1];
  if (digest === undefined) return rows;
  return (await client.call('queryTable', { body: { project_id: project, digest } })).rows.map((row) => row.val);
}

export const datasetFromFailures: Job = {
  name: 'dataset-from-failures',
  needs: ['create_dataset'],
  maxCalls: 20,
  async prepare(workspace) {
    const queue = await workspace.addQueue({
      name: 'Answer check',
      fields: { correct: { type: 'boolean' } },
      displayFields: ['inputs.question', 'output.answer'],
      items: calls,
    });
    await queue.judge(
      'ada',
      'correct',
      calls.map(({ call_id }, index) => [call_id, index % 4 !== 1] as const),
    );
    return {
      turns: [
        'Please make a dataset "wrong-answers" of the items in the queue "Answer check" that Ada judged as not correct: one row for each, with the columns question and answer as they were recorded.',
      ],
      async check() {
        const client = await workspace.client();
        const { objs } = await client.call('queryObjects', {
          body: {
            project_id: project,
            filter: { base_object_classes: ['Dataset'], object_ids: ['wrong-answers'], latest_only: true },
          },
        });
        const faults = await faultsOfItems(workspace, {});
        if (!objs[0]) return ['there is no dataset "wrong-answers"', ...faults];
        const { data } = datasetRows.safeParse(await rowsOf(objs[0].val, client));
        if (!data) return ['the rows of the dataset have no question and answer', ...faults];
        const rows = data.map(({ question, answer }) => ({ question, answer }));
        const byQuestion = (a: { question: unknown }, b: { question: unknown }) =>
          String(a.question).localeCompare(String(b.question));
        const isSame = isDeepStrictEqual(rows.sort(byQuestion), [...failures].sort(byQuestion));
        return [...(isSame ? [] : [`the dataset has the rows ${JSON.stringify(rows)}`]), ...faults];
      },
    };
  },
};
