import { describe, expect, it } from 'vitest';
import type { ServiceClient } from '../../src/client/service-client.ts';
import { createClient } from '../../src/library.ts';
import { judgementsOf, latestJudgements, notesOf, readFeedback } from '../../src/queues/judgements.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';

const feedback = (id: string, feedback_type: string, payload: object, members: object = {}) => ({
  id,
  feedback_type,
  payload,
  weave_ref: 'weave:///team/project/call/c1',
  created_at: '2026-01-02T00:00:00.123456',
  wb_user_id: 'u',
  ...members,
});

async function read(result: object[], callIds?: string[]) {
  const service = await startFakeService();
  service.respond = (request) => sendResponse(request, 200, { result });
  const client = createClient({ baseUrl: service.url, username: 'u', password: 'p', token: 't' });
  // The package exports a narrower type.
  const feedback = await readFeedback(
    { service: client as unknown as ServiceClient, id: 'q', project: 'team/project' },
    callIds,
  );
  await client.close();
  return {
    judgements: judgementsOf(feedback),
    notes: notesOf(feedback),
    queries: service.requests.map(({ body }) => JSON.parse(body).query.$expr),
  };
}

describe('readFeedback', () => {
  it('reads annotations, judgements without a field, and notes', async () => {
    const { judgements, notes } = await read([
      feedback('1', 'wandb.annotation.helpful', { value: true }, { creator: 'u' }),
      feedback('2', 'heddle.judgement.tone', { value: 'kind' }, { creator: 'claude' }),
      feedback('3', 'wandb.reaction.1', { emoji: '👍' }),
      feedback('4', 'wandb.note.1', { note: 'hm' }),
      feedback('5', 'wandb.note.1', { note: 'fine' }),
    ]);
    const rest = { user: 'u', call_id: 'c1', at: '2026-01-02T00:00:00.123456Z' };
    expect(judgements).toEqual([
      { ...rest, id: '1', field: 'helpful', value: true, annotator: 'u', creator: 'u' },
      { ...rest, id: '2', field: 'tone', value: 'kind', annotator: 'u (claude)', creator: 'claude' },
    ]);
    expect(notes.map(({ note, annotator }) => [note, annotator])).toEqual([
      ['hm', 'u'],
      ['fine', 'u'],
    ]);
  });

  it('asks for the judgements of up to 500 calls, and of the whole queue for more', async () => {
    const inQueue = { $eq: [{ $getField: 'queue_id' }, { $literal: 'q' }] };
    const ids = Array.from({ length: 501 }, (_, index) => `c${index}`);
    const refs = ids.slice(0, 500).map((id) => ({ $literal: `weave:///team/project/call/${id}` }));
    const ofCalls = await read([], ids.slice(0, 500));
    expect(ofCalls.queries).toEqual([{ $and: [inQueue, { $in: [{ $getField: 'weave_ref' }, refs] }] }]);
    expect((await read([], ids)).queries).toEqual([inQueue]);
    expect((await read([], [])).queries).toEqual([]);
  });
});

describe('latestJudgements', () => {
  it('keeps the latest of each annotator, field and call; of two at the same time the one with the higher id', async () => {
    const { judgements } = await read([
      feedback('b', 'wandb.annotation.f', { value: 1 }),
      feedback('a', 'wandb.annotation.f', { value: 2 }),
      feedback('c', 'wandb.annotation.f', { value: 3 }, { created_at: '2026-01-02T00:00:00' }),
      feedback('d', 'wandb.annotation.g', { value: 4 }),
      feedback('e', 'wandb.annotation.f', { value: 5 }, { creator: 'claude' }),
      feedback('f', 'wandb.annotation.f', { value: 6 }, { weave_ref: 'weave:///team/project/call/c2' }),
    ]);
    expect(latestJudgements(judgements).map(({ value }) => value)).toEqual([1, 4, 5, 6]);
  });
});
