import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';

describe('resources', () => {
  it('list the first twenty queues, which can be read', async () => {
    const home = await importNumberedQueue(1);
    const { client } = await connectClient(home);
    for (let n = 1; n <= 21; n += 1) {
      await client.callTool({ name: 'create_queue', arguments: { name: `Queue ${n}`, guidelines: 'x'.repeat(300) } });
    }
    const resources = (await client.listResources()).resources.filter(({ uri }) => uri.startsWith('heddle:'));
    expect(resources).toHaveLength(20);
    expect(resources[0]).toMatchObject({ title: 'Queue 21', mimeType: 'application/json' });
    expect(resources[0]!.description).toMatch(/^x{200}…/);
    const [content] = (await client.readResource({ uri: resources[0]!.uri })).contents;
    expect(JSON.parse((content as { text: string }).text)).toMatchObject({ name: 'Queue 21', total_items: 0 });
  });

  it('return a queue with its item counts, and a recorded call', async () => {
    const { client } = await connectClient(await importNumberedQueue(3));
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'heddle://{entity}/{project}/queues/{queue_id}',
      'heddle://{entity}/{project}/calls/{call_id}',
    ]);
    const read = async (uri: string) => {
      const [content] = (await client.readResource({ uri })).contents;
      return JSON.parse((content as { text: string }).text);
    };
    expect(await read('heddle://demo/support/queues/q')).toMatchObject({ id: 'q', total_items: 3, completed_items: 0 });
    expect(await read('heddle://demo/support/calls/call-2')).toMatchObject({ inputs: { question: 'Question 2?' } });
    await expect(read('heddle://demo/support/calls/nowhere')).rejects.toMatchObject({ code: expect.any(Number) });
    await expect(read('heddle://demo/support/other/x')).rejects.toMatchObject({ code: expect.any(Number) });
  });
});
