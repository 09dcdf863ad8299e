import * as z from 'zod';
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

export const compareRuns: Job = {
  name: 'compare-runs',
  needs: ['create_scorer', 'create_evaluation', 'run_evaluation', 'read_evaluation'],
  maxCalls: 30,
  async prepare(workspace) {
    const reference = await workspace.addDataset('capitals', rows);
    return {
      turns: [
        'Set up an evaluation "Capitals" on the dataset capitals: an answer is right if it contains what its row has as capital. Run it with the model heddle/echo twice, once with the prompt {question} and once with the prompt {question} It is {capital}. Then compare the two runs, and end with one line that gives both pass rates in percent, like plain=1, hinted=2.',
      ],
      // The runs are judged by their pass rates, which nobody can tell without them: the service lists no runs yet.
      async check([answer = '']) {
        const client = await workspace.client();
        const { objs } = await client.queryObjects({
          project_id: project,
          filter: { base_object_classes: ['Evaluation'], latest_only: true },
        });
        const stored = objs.map(({ val }) => evaluation.safeParse(val).data);
        const isStored = stored.some((one) => one?.dataset === reference);
        return [
          ...(isStored ? [] : [`no evaluation has one scorer and the dataset ${reference}`]),
          ...faultsOfNumbers(answer, { plain: 40, hinted: 100 }),
        ];
      },
    };
  },
};
