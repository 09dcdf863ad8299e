import { describe, expect, it } from 'vitest';
import { createQueue, startBothServices } from '../support/both-services.ts';

const services = await startBothServices();

describe.each(services)('calibrate_scorer on $name', ({ url, ada, environmentOf, judgeByHand, ...service }) => {
  it('measures a judge on scores that are on the calls already, and keeps what it has shown', async () => {
    const calls = ['call-0', 'call-1', 'call-2', 'call-3'];
    const { queue_id } = await createQueue({ ada, ...service }, calls);
    for (const [index, call] of calls.entries()) await judgeByHand(queue_id, call, index < 2);
    const judge = { name: 'Good', kind: 'llm_judge', model: 'heddle/echo', prompt: '{output}' };
    const { scorer_ref } = await ada.call('create_scorer', judge);
    const { HEDDLE_PASSWORD } = environmentOf('ada');
    for (const [index, call] of calls.entries()) {
      const body = {
        project_id: 'team/project',
        weave_ref: `weave:///team/project/call/${call}`,
        feedback_type: 'wandb.runnable.good',
        payload: { output: { score: index < 3 } },
        runnable_ref: scorer_ref,
      };
      const { status } = await fetch(`${url}/feedback/create`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`ada:${HEDDLE_PASSWORD}`)}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(status).toBe(200);
    }
    const args = { scorer: 'Good', queue_id, field: 'helpful', held_out: { share: 1 } };
    const result = await ada.call('calibrate_scorer', args);
    expect(result).toMatchObject({
      status: 'not calibrated',
      judge_requests: 0,
      kept: 4,
      held_out: { n: 4, sensitivity: { rate: 1, n: 2 }, specificity: { rate: 0.5, n: 2 } },
    });
    expect(result.judge).toBe('κ 0.5 (-0.23 to 1), n 4');
  });
});
