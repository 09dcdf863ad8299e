import { expect, it, onTestFinished, vi } from 'vitest';
import { scoreFeedbackType } from '../../src/contract/feedback.ts';
import { connectClient } from '../support/client.ts';
import { sendResponse } from '../support/fake-service.ts';
import { startRecordedService } from '../support/recorded-service.ts';

const project = 'team/project';

/** Starts a service like the public one with six judged calls, which scores calls some looks after it was asked to. */
async function connect({ looks, isTimeUp = false }: { looks: number; isTimeUp?: boolean }) {
  const service = await startRecordedService();
  service.calls = Array.from({ length: 6 }, (_, n) => ({ id: `call-${n}`, output: `#${n}`, inputs: {} }));
  const { respond } = service;
  const asked: string[][] = [];
  let [left, scorer] = [looks, ''];
  service.respond = (request) => {
    if (request.path === '/calls/score') {
      const { call_ids, scorer_refs } = JSON.parse(request.body);
      asked.push(call_ids);
      scorer = scorer_refs[0];
      if (isTimeUp) skipToDeadline();
      return sendResponse(request, 200, {});
    }
    if (request.path === '/feedback/query' && scorer !== '') {
      left -= 1;
      if (left === 0) service.feedback.push(...scoresOf(scorer));
    }
    respond(request);
  };
  const client = await connectClient(service.environmentOf('ada'));
  const fields = [{ name: 'good', type: 'boolean' }];
  const { queue_id } = await client.call('create_queue', { name: 'Judged', fields });
  const call_ids = service.calls.map(({ id }) => id);
  await client.call('add_queue_items', { queue_id, call_ids });
  const items = call_ids.map((call_id, n) => ({ call_id, judgements: { good: n % 2 === 0 } }));
  const judged = await client.call('update_queue_items', { queue_id, items, by_user: true });
  expect(judged.counts).toEqual({ done: 6 });
  const judge = { name: 'Judge', kind: 'llm_judge', model: 'judge', prompt: '{output}' };
  expect((await client.call('create_scorer', judge)).error).toBeUndefined();
  const calibrate = () =>
    client.call('calibrate_scorer', { scorer: 'Judge', queue_id, field: 'good', held_out: { share: 1 } });
  return { service, asked, calibrate };
}

/** Makes the clock show eight seconds before the deadline of a minute of the tool call in progress. */
function skipToDeadline(): void {
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 52_000);
  onTestFinished(() => clock.mockRestore());
}

function scoresOf(scorer: string): object[] {
  return Array.from({ length: 6 }, (_, n) => ({
    id: `score-${n}`,
    project_id: project,
    weave_ref: `weave:///${project}/call/call-${n}`,
    feedback_type: scoreFeedbackType('judge'),
    payload: { output: { score: n % 2 === 0 } },
    created_at: `2026-01-03T00:00:0${n}`,
    runnable_ref: scorer,
  }));
}

it('waits for the scores of a service without runs', async () => {
  const { service, asked, calibrate } = await connect({ looks: 3 });
  const result = await calibrate();
  expect(result).toMatchObject({ status: 'calibrated', held_out: { n: 6, percent: 100 } });
  expect(asked).toEqual([['call-0', 'call-1', 'call-2', 'call-3', 'call-4', 'call-5']]);
  // The calls without a score are read once, before the judge is asked, and their outputs after it.
  const reads = service.bodiesOf('/calls/stream_query').map(({ columns }) => columns);
  expect(reads.filter((columns) => columns?.includes('exception'))).toEqual([
    ['id', 'exception', 'inputs', 'ended_at'],
    ['id', 'exception', 'output'],
  ]);
});

it('asks for no score twice when it has to be called again', async () => {
  const { asked, calibrate } = await connect({ looks: 2, isTimeUp: true });
  expect(await calibrate()).toMatchObject({
    status: 'running',
    next: 'The judge is still being asked. Wait a minute, then call again with the same arguments.',
  });
  expect(await calibrate()).toMatchObject({ status: 'calibrated', held_out: { n: 6 } });
  expect(asked).toHaveLength(1);
});
