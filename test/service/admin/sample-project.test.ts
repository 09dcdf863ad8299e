import { describe, expect, it } from 'vitest';
import { basic, startTestService, type TestService } from '../../support/embedded-service.ts';

const project_id = 'demo/support';
const queuePath = '/annotation_queues/support-triage';

async function post(service: TestService, path: string, body: object) {
  const answer = await service.send('POST', path, basic, { project_id, ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

async function readFields(service: TestService): Promise<string[]> {
  const { body } = await service.send('GET', `${queuePath}?project_id=${project_id}`, basic);
  return body.queue.scorer_refs;
}

describe('the sample project', () => {
  it('is created once, with a field in its queue', async () => {
    const service = await startTestService({ sample: true });
    const refs = await readFields(service);
    expect(refs).toEqual([expect.stringMatching(/^weave:\/\/\/demo\/support\/object\/helpful:[A-Za-z0-9]{43}$/)]);
    expect((await post(service, '/refs/read_batch', { refs })).vals).toMatchObject([
      { name: 'helpful', field_schema: { type: 'boolean' } },
    ]);
    const again = await startTestService({ data: service.data, sample: true });
    expect(await readFields(again)).toEqual(refs);
    const filter = { base_object_classes: ['AnnotationSpec'] };
    expect((await post(again, '/objs/query', { filter })).objs).toHaveLength(1);
    expect((await post(again, '/annotation_queues/stats', { queue_ids: ['support-triage'] })).stats).toMatchObject([
      { total_items: 12 },
    ]);
  });

  it('keeps the changes of its users when the service is restarted', async () => {
    const service = await startTestService({ sample: true });
    const change = { project_id, scorer_refs: [] };
    expect((await service.send('PUT', queuePath, basic, change)).status).toBe(200);
    expect(await readFields(await startTestService({ data: service.data, sample: true }))).toEqual([]);
  });

  it('is created only on request', async () => {
    const service = await startTestService();
    expect((await service.send('GET', '/projects', basic)).body).toEqual({ projects: [] });
  });
});
