import * as z from 'zod';
import { splitProjectId } from '../../../src/contract/identifiers.ts';
import type { Client } from '../../../src/library.ts';
import { faultsOfNumbers } from '../answer.ts';
import type { Job } from '../job.ts';
import { project } from '../workspace.ts';

/** The model heddle/echo repeats the prompt, so an answer has the capital if the prompt has it: here in four questions. */
const rows = [
  { question: 'What is the capital of Denmark?', capital: 'Copenhagen' },
  { question: 'Is Oslo the capital of Norway?', capital: 'Oslo' },
  { question: 'What is the capital of Finland?', capital: 'Helsinki' },
  { question: 'What is the capital of Portugal?', capital: 'Lisbon' },
  { question: 'Vienna is the capital of which country?', capital: 'Vienna' },
  { question: 'What is the capital of Poland?', capital: 'Warsaw' },
  { question: 'Is Madrid larger than every other city of Spain?', capital: 'Madrid' },
  { question: 'What is the capital of Hungary?', capital: 'Budapest' },
  { question: 'What is the capital of Ireland?', capital: 'Dublin' },
  { question: 'On which river is Paris?', capital: 'Paris' },
];

const evaluation = z.looseObject({ dataset: z.string(), scorers: z.array(z.unknown()).length(1) });

/** Pass rates of the two runs, by their prompts. */
const passRates: Record<string, number> = { '{question}': 0.4, '{question} It is {capital}.': 1 };

const model = z.looseObject({
  default_params: z.looseObject({ messages_template: z.array(z.looseObject({ content: z.unknown() })).min(1) }),
});

/** Checks that each prompt has a finished run with all rows, whose only scorer has the pass rate that heddle/echo gives. */
async function faultsOfRuns(client: Client): Promise<string[]> {
  const runs = await client.call('listEvaluationRuns', { path: splitProjectId(project), query: {} });
  const found = new Map<string, string>();
  for (const run of runs.filter(({ status }) => status === 'completed')) {
    const { vals } = await client.call('readReferences', { body: { refs: [String(run.model)] } });
    const prompt = String(model.safeParse(vals[0]).data?.default_params.messages_template.at(-1)?.content);
    const { summary } = await client.call('queryEvaluationResults', {
      path: splitProjectId(project),
      body: {
        evaluation_run_ids: [run.evaluation_run_id],
        include_rows: false,
        include_summary: true,
      },
    });
    const rates = summary?.evaluations[0]?.scorer_stats.map(({ pass_rate }) => pass_rate) ?? [];
    found.set(prompt, `${summary?.row_count} rows and the pass rates ${JSON.stringify(rates)}`);
  }
  return Object.entries(passRates).flatMap(([prompt, rate]) => {
    const wanted = `${rows.length} rows and the pass rates [${rate}]`;
    // The model may end the sentence or not.
    const of = found.get(prompt) ?? found.get(prompt.replace(/\.$/, ''));
    return of === wanted
      ? []
      : [`the run with the prompt ${prompt} should have ${wanted} but has ${of ?? 'not ended'}`];
  });
}

export const compareRuns: Job = {
  name: 'compare-runs',
  needs: ['create_scorer', 'create_evaluation', 'run_evaluation', 'read_evaluation'],
  maxCalls: 30,
  async prepare(workspace) {
    const reference = await workspace.addDataset('capital-questions', rows);
    return {
      turns: [
        'Set up an evaluation "Capitals" on the dataset capital-questions: an answer is right if it contains what its row has as capital. Run it with the model heddle/echo twice, once with the prompt {question} and once with the prompt {question} It is {capital}. Then compare the two runs, and end with one line that gives both pass rates in percent, like plain=1, hinted=2.',
      ],
      async check([answer = '']) {
        const client = await workspace.client();
        const { objs } = await client.call('queryObjects', {
          body: {
            project_id: project,
            filter: { base_object_classes: ['Evaluation'], latest_only: true },
          },
        });
        const stored = objs.map(({ val }) => evaluation.safeParse(val).data);
        const isStored = stored.some((one) => one?.dataset === reference);
        return [
          ...(isStored ? [] : [`no evaluation has one scorer and the dataset ${reference}`]),
          ...(await faultsOfRuns(client)),
          ...faultsOfNumbers(answer, { plain: 40, hinted: 100 }),
        ];
      },
    };
  },
};
