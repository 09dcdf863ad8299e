import { describe, expect, it } from 'vitest';
import type { ServiceClient } from '../../src/client/service-client.ts';
import { createClient } from '../../src/library.ts';
import { readLackingPage } from '../../src/queues/lacking-items.ts';
import { callIds, projectId, startServiceWithCalls } from '../support/service-with-calls.ts';

describe('readLackingPage', () => {
  it.each([true, false])('finds the same pages where the service counts: %j', async (counts) => {
    const service = await startServiceWithCalls();
    const fields = await Promise.all(
      ['tone', 'length'].map((name) =>
        service.createObject(name, { _class_name: 'AnnotationSpec', name, field_schema: { type: 'boolean' } }),
      ),
    );
    const id = await service.createQueue({ calls: callIds.slice(0, 6), scorer_refs: fields });
    const judged = { 'call-0': ['tone', 'length'], 'call-1': ['tone'], 'call-2': [], 'call-3': ['length'] };
    for (const [call, names] of Object.entries(judged)) {
      for (const name of names) {
        const weave_ref = `weave:///${projectId}/call/${call}`;
        const body = { weave_ref, feedback_type: `heddle.judgement.${name}`, payload: { value: true }, queue_id: id };
        await service.post('/feedback/create', body);
      }
      await service.move(id, call, 'completed');
    }
    await service.move(id, 'call-4', 'skipped');
    const { url } = service.service.running;
    // The package exports a narrower type.
    const client = createClient({
      baseUrl: url,
      username: 'ada',
      password: service.passwords.ada,
    }) as unknown as ServiceClient;
    if (!counts) client.facts.unsupportedOperations.add('summarizeQueueItems');
    const queue = { id, project: projectId, service: client, clientName: 'claude' };
    const pageAt = async (offset: number, filter = {}) => {
      const { items, ...page } = await readLackingPage({ filter, limit: 2, offset }, queue);
      return [items.map(({ call_id }) => call_id).join(' '), page.hasMore, page.matching, page.lacking, page.skipped];
    };
    const lacking = { tone: 2, length: 2 };
    expect(await pageAt(0)).toEqual(['call-1 call-2', true, 3, lacking, 1]);
    expect(await pageAt(2)).toEqual(['call-3', false, 3, lacking, 1]);
    expect(await pageAt(4)).toEqual(['', false, 3, lacking, 1]);
    expect(await pageAt(0, { field: 'length' })).toEqual(['call-3', false, 1, { tone: 1 }, 0]);
    expect(await pageAt(0, { annotation_states: ['skipped'] })).toEqual(['', false, 0, {}, 1]);
  });
});
