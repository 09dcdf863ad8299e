import { describe, expect, it } from 'vitest';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { connectStdioClient } from '../support/stdio-client.ts';

describe('list_objects', () => {
  it('lists references that create_evaluation accepts, and models that run_inference accepts', async () => {
    const { call } = await connectStdioClient(emptyHome(temporaryFolder()));
    const { objects } = await call('list_objects', { kind: 'dataset' });
    expect(objects).toMatchObject([{ object_id: 'tickets', version_index: 0 }]);
    const created = await call('create_evaluation', { name: 'From the list', dataset: objects[0].reference });
    expect(created.version_index).toBe(0);
    expect((await call('list_objects', { kind: 'evaluation' })).objects).toMatchObject([
      { object_id: 'from_the_list', reference: created.evaluation_ref },
    ]);

    const [model] = (await call('list_objects', { kind: 'model' })).objects;
    expect(model).toMatchObject({ id: 'heddle/echo' });
    const messages = [{ role: 'user', content: 'Hi' }];
    expect(await call('run_inference', { model: model.id, messages })).toMatchObject({ finish_reason: 'stop' });
  });

  it('returns next_offset while more objects follow', async () => {
    const { call } = await connectStdioClient(emptyHome(temporaryFolder()));
    const first = await call('list_objects', { kind: 'scorer', limit: 1 });
    expect(first).toMatchObject({ offset: 0, next_offset: 1 });
    const last = await call('list_objects', { kind: 'scorer', limit: 1, offset: 1 });
    const names = [...first.objects, ...last.objects].map(({ object_id }) => object_id);
    expect(names.sort()).toEqual(['helpfulness', 'tone']);
    expect(last.next_offset).toBeUndefined();
  });
});
