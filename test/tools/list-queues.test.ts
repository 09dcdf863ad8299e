import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { connectStdioClient } from '../support/stdio-client.ts';

describe('list_queues', () => {
  it('returns the queues whose name contains the given text, with their item counts', async () => {
    const { call } = await connectStdioClient(await importNumberedQueue(3));
    const { queues, text } = await call('list_queues', { name: 'q' });
    expect(queues).toMatchObject([{ id: 'q', total_items: 3, completed_items: 0 }]);
    expect(text).toContain('1 queue from offset 0. This is the last page.');
    expect((await call('list_queues', { name: 'nothing like it' })).queues).toEqual([]);
  });

  it('names the tools that remain when the service lacks its operation', async () => {
    const service = createServer((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void service.close());
    const { call } = await connectStdioClient(
      emptyHome(temporaryFolder(), {
        HEDDLE_BASE_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
        HEDDLE_PROJECT: 'a/b',
        HEDDLE_USERNAME: 'u',
        HEDDLE_PASSWORD: 'p',
        HEDDLE_TOKEN: 't',
      }),
    );
    const { error } = await call('list_queues', {});
    expect(error).toMatchObject({ code: 'unsupported', status: 404 });
    expect(error.hint).toContain('query_queue_items, summarize_queue, read_call, update_queue_items, list_objects, run_inference');
    expect(error.hint).not.toContain('list_queues');
  });
});
