import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { toolNames } from '../../pins/tools.ts';
import { callEveryTool } from '../../support/call-every-tool.ts';
import { connectToProcess } from '../../support/client.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { callsAt, opNamed } from '../../support/recorded-calls.ts';
import { addAccount, startServiceProcess } from '../../support/service-process.ts';

const nodes = [22, 24].map((version) => ({
  version,
  node: installedPath('node-versions', `node-${version}/bin/node`),
}));

describe.skipIf(nodes.some(({ node }) => !node)).each(nodes)(
  'the built command on Node $version',
  ({ version, node }) => {
    it('is run by that version', () => {
      expect(execFileSync(node!, ['--version'], { encoding: 'utf8' })).toMatch(new RegExp(`^v${version}\\.`));
    });

    it('serves every tool over stdio', async () => {
      const { client } = await connectToProcess(emptyHome(temporaryFolder()), {}, node);
      expect(await callEveryTool(client)).toEqual(toolNames);
    });

    it('runs an evaluation to its end', async () => {
      const { call } = await connectToProcess(emptyHome(temporaryFolder()), { answer: 'accept' }, node);
      const rows = [
        { question: 'What is 2 + 2?', expected: '4' },
        { question: 'Say four', expected: 'four' },
      ];
      const { dataset_ref } = await call('create_dataset', { name: 'Sums', rows });
      const { scorer_ref } = await call('create_scorer', { name: 'Has it', kind: 'contains', expected: 'expected' });
      await call('create_evaluation', { name: 'Answers', dataset: dataset_ref, scorers: [scorer_ref] });
      const run = { evaluation: 'Answers', model: 'heddle/echo', prompt: '{question}' };
      expect(await call('run_evaluation', run)).toMatchObject({
        status: 'complete',
        predictions: 2,
        // The model repeats the question.
        scorers: [{ scorer: 'has_it', n: 2, pass_rate: 0.5 }],
      });
    });

    it('records calls over HTTP and returns them', async () => {
      const environment = emptyHome(temporaryFolder());
      const { password } = await addAccount('ada', environment);
      const { url } = await startServiceProcess(environment, [], node);
      const call = {
        project_id: 'team/support',
        id: 'call-1',
        op_name: `weave:///team/support/op/answer:${'a'.repeat(43)}`,
        trace_id: 'trace-1',
        started_at: '2026-01-01T00:00:00.000Z',
        attributes: {},
        inputs: { question: 'Why?' },
      };
      const end = { ended_at: '2026-01-01T00:00:02.250Z', output: { answer: 'Because.' }, summary: {} };
      const recorded = await fetch(`${url}/call/upsert_batch`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`api:${password}`)}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          batch: [
            { mode: 'start', req: { start: call } },
            { mode: 'end', req: { end: { project_id: call.project_id, id: call.id, ...end } } },
          ],
        }),
      });
      expect(recorded.status).toBe(200);
      expect(await callsAt({ url, password }, { filter: opNamed('answer') })).toMatchObject([
        { id: 'call-1', inputs: { question: 'Why?' }, output: { answer: 'Because.' } },
      ]);
    });
  },
);
