import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';

const tone = { name: 'tone', type: 'choice', choices: ['kind', 'rude'] };
const queue_id = 'support-triage';

describe('update_queue', () => {
  it('adds fields after those of the queue, once', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const helpful = expect.objectContaining({ name: 'helpful', type: 'boolean' });
    const fields = [helpful, { name: 'tone', choices: ['kind', 'rude'] }];
    for (let repeated = 0; repeated < 2; repeated += 1) {
      expect(await call('update_queue', { queue_id, add_fields: [tone] })).toMatchObject({
        queue_id,
        fields,
      });
    }
    expect((await call('list_queues', {})).queues[0].fields).toEqual(fields);
  });

  it('refuses a field that has the name of another one, and an unknown queue', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const other = [{ name: 'helpful', type: 'string' }];
    expect((await call('update_queue', { queue_id, add_fields: other })).error).toMatchObject({
      code: 'conflict',
      message: 'Nothing was changed. Queue support-triage has another field helpful already.',
    });
    expect((await call('update_queue', { queue_id: 'triage', add_fields: [tone] })).error).toMatchObject({
      code: 'not_found',
      hint: expect.stringContaining('support-triage'),
    });
    expect((await call('list_queues', {})).queues[0].fields).toHaveLength(1);
  });
});
