import { describe, expect, it } from 'vitest';
import { jobs } from '../../../bench/agent/jobs/index.ts';
import { type PlayedJob, playJob } from '../../../bench/agent/play-job.ts';
import { Workspace } from '../../../bench/agent/workspace.ts';
import { startServer } from '../../support/client.ts';
import { onEnd } from '../../support/on-end.ts';
import { startScriptedModel, type Trajectory } from './scripted-model.ts';
import { trajectories } from './trajectories.ts';

const jobNamed = (name: string) => jobs.find((job) => job.name === name)!;

async function play(name: string, trajectory: Trajectory): Promise<PlayedJob> {
  const { model } = await startScriptedModel(trajectory);
  return playJob(jobNamed(name), {
    model,
    form: 'structured',
    countTokens: (text) => text.length,
    startServer: (environment) => startServer(environment).open(),
  });
}

describe('the jobs of the agent benchmark', () => {
  for (const [name, { good, bad }] of Object.entries(trajectories)) {
    it(`${name} passes a model that does the job`, async () => {
      expect(await play(name, good)).toMatchObject({ outcome: 'passed', faults: [] });
    });

    for (const { mistake, trajectory, fault } of bad) {
      it(`${name} fails a model that ${mistake}`, async () => {
        expect(await play(name, trajectory)).toMatchObject({
          outcome: 'failed',
          faults: expect.arrayContaining([fault]),
        });
      });
    }
  }

  it('are the thirty for which this file has good and bad answers', () => {
    expect(jobs.map(({ name }) => name).sort()).toEqual(Object.keys(trajectories).sort());
    expect(jobs).toHaveLength(30);
  });
});

describe('the checks of jobs', () => {
  const project_id = 'acme/support';

  async function prepared(name: string) {
    const workspace = await Workspace.open();
    onEnd(() => workspace.close());
    return { ...(await jobNamed(name).prepare(workspace)), client: await workspace.client() };
  }

  it('dataset-from-failures requires the questions and answers of the failures, in any order', async () => {
    const { check, client } = await prepared('dataset-from-failures');
    expect(await check([''])).toEqual(['there is no dataset "wrong-answers"']);
    const rows = [
      { question: 'What is 11 times 12?', answer: '133' },
      { question: 'What is 15 times 16?', answer: '241' },
      { question: 'What is 23 times 24?', answer: '553' },
      { question: 'What is 3 times 4?', answer: '13' },
      { question: 'What is 7 times 8?', answer: '57' },
    ];
    const store = (rows: object[]) =>
      client.call('createObject', {
        body: {
          obj: { project_id, object_id: 'wrong-answers', val: { rows }, builtin_object_class: 'Dataset' },
        },
      });
    await store(rows);
    expect(await check([''])).toEqual([`the dataset has the rows ${JSON.stringify(rows)}`]);
    await store([...rows, { question: 'What is 19 times 20?', answer: '381' }]);
    expect(await check([''])).toEqual([]);
  });
});
