import { describe, expect, it } from 'vitest';
import { type EndpointName, endpoints } from '../../../src/contract/endpoints.ts';
import { type Answer, account, basic, startTestService, withStore } from '../../support/embedded-service.ts';
import { type Body, contentOf, fillProject, sendRequest } from '../../support/every-endpoint.ts';
import {
  inheritedByAll,
  inheritedNames,
  withMember,
  withMemberEverywhere,
  withTextsReplaced,
} from '../../support/inherited-names.ts';

const service = await startTestService();
const ada = await withStore(service.data, (store) => store.addUser('ada', ['acme/other']));
const asAda = `Basic ${btoa(`ada:${ada.password}`)}`;
const before = inheritedByAll();

/** Checks that another account still gets the queues of its project, and that no prototype has changed. */
async function expectUnharmed(): Promise<void> {
  const found = await service.send('POST', '/annotation_queues/query', asAda, { project_id: 'acme/other' });
  expect([found.status, found.body]).toEqual([200, '']);
  expect(inheritedByAll()).toEqual(before);
}

async function post(path: string, body: Body): Promise<Answer['body']> {
  const answer = await service.send('POST', path, basic, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

/** The endpoints; those that delete come last, so that the others find what they name. */
const deletes = (name: string): number => Number(/^(delete|purge|cancel)/.test(name));
const names = (Object.keys(endpoints) as EndpointName[]).sort((a, b) => deletes(a) - deletes(b));

describe.each(inheritedNames)('a member that is named %s', async (name) => {
  const project = `acme/of-${name}`;
  const named = await fillProject(service, project, 'named');

  it('is the name of a model, a kind of usage, a scorer, a score, a column and a price in a run', async () => {
    const of = `/v2/${project}`;
    const started_at = '2026-01-01T00:00:00Z';
    const model = await post('/obj/create', {
      obj: {
        project_id: project,
        object_id: 'model',
        val: { llm_model_id: name },
        builtin_object_class: 'LLMStructuredCompletionModel',
      },
    });
    const run = { evaluation: named.evaluation, model: `weave:///${project}/object/model:${model.digest}` };
    const { evaluation_run_id } = await post(`${of}/evaluation_runs`, run);
    const usage = { ...withMember(name, { get: 1, ...withMember(name, 1) }), m: withMember(name, { get: 1 }) };
    await post('/call/upsert_batch', {
      batch: [
        {
          mode: 'start',
          req: {
            start: {
              project_id: project,
              id: `below-${name}`,
              op_name: 'Evaluation.predict_and_score',
              trace_id: evaluation_run_id,
              parent_id: evaluation_run_id,
              started_at,
              attributes: withMember(name),
              inputs: withMember(name),
            },
          },
        },
        {
          mode: 'end',
          req: {
            end: {
              project_id: project,
              id: `below-${name}`,
              ended_at: started_at,
              output: withMember(name, 1),
              summary: { usage, ...withMember(name) },
            },
          },
        },
      ],
    });
    await post('/cost/create', {
      project_id: project,
      costs: withMember(name, { prompt_token_cost: 1, completion_token_cost: 1 }),
    });
    const prediction = {
      model: run.model,
      inputs: withMember(name, 'x'),
      output: withMember(name, 1),
      evaluation_run_id,
    };
    const { prediction_id } = await post(`${of}/predictions`, prediction);
    const scorer = await post('/obj/create', {
      obj: { project_id: project, object_id: name, val: {}, builtin_object_class: 'Scorer' },
    });
    const scored = { prediction_id, scorer: `weave:///${project}/object/${name}:${scorer.digest}`, evaluation_run_id };
    await post(`${of}/scores`, { ...scored, value: { ...withMember(name, true), m: withMember(name, 1) } });
    await post(`${of}/predictions/${prediction_id}/finish`, {});
    await post(`${of}/evaluation_runs/${evaluation_run_id}/finish`, {});
    await expectUnharmed();
    const answers = [
      await service.send('POST', '/calls/stream_query', basic, {
        project_id: project,
        include_costs: true,
        columns: [`summary.usage.${name}`, `inputs.${name}`],
        expand_columns: [`inputs.${name}`],
        sort_by: [{ field: `output.${name}`, direction: 'asc' }],
        query: { $expr: { $eq: [{ $getField: `inputs.${name}` }, { $literal: 'x' }] } },
      }),
      await service.send('POST', `${of}/eval_results/query`, basic, {
        evaluation_run_ids: [evaluation_run_id],
        include_summary: true,
        include_raw_data_rows: true,
      }),
      await service.send('GET', `${of}/evaluation_runs/${evaluation_run_id}`, basic),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await expectUnharmed();
  });

  it.each(names)('harms nothing when it is sent to %s', async (endpoint) => {
    const send = (change: (content: Body) => unknown): Promise<Answer> =>
      sendRequest(service, endpoint, { project, named, account }, (content) => change(content) as Body);
    const count = withTextsReplaced(contentOf(endpoint, project, named), name).length;
    const answers = [await send((content) => withMemberEverywhere(content, name))];
    for (let at = 0; at < count; at += 1) {
      answers.push(await send((content) => withTextsReplaced(content, name)[at]));
    }
    expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
    await expectUnharmed();
  });
});
