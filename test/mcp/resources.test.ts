import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { LineClient } from '../support/line-client.ts';
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
      'heddle://{entity}/{project}/queues/{queue_id}/judgements.csv',
      'heddle://{entity}/{project}/runs/{run_id}',
      'heddle://{entity}/{project}/calls/{call_id}',
    ]);
    const read = async (uri: string) => {
      const [content] = (await client.readResource({ uri })).contents;
      return JSON.parse((content as { text: string }).text);
    };
    expect(await read('heddle://demo/support/queues/q')).toMatchObject({ id: 'q', total_items: 3, completed_items: 0 });
    expect(await read('heddle://demo/support/calls/call-2')).toMatchObject({ inputs: { question: 'Question 2?' } });
    await expect(read('heddle://demo/support/calls/nowhere')).rejects.toMatchObject({ code: expect.any(Number) });
    await expect(read('heddle://demo/support/calls/call-2/judgements.csv')).rejects.toMatchObject({
      code: expect.any(Number),
    });
    await expect(read('heddle://demo/support/other/x')).rejects.toMatchObject({ code: expect.any(Number) });
  });

  it('take the name of a queue', async () => {
    const { client, call } = await connectClient(await importNumberedQueue(1));
    const { queue_id } = await call('create_queue', { name: 'Autumn complaints' });
    const textAt = async (uri: string) => ((await client.readResource({ uri })).contents[0] as { text: string }).text;
    const uri = 'heddle://demo/support/queues/Autumn%20complaints';
    expect(JSON.parse(await textAt(uri))).toMatchObject({ id: queue_id, name: 'Autumn complaints' });
    expect(await textAt(`${uri}/judgements.csv`)).toMatch(/^project_id,queue_id,item_id,/);
  });

  it('return the judgements of a queue as CSV, to which summarize_queue links', async () => {
    const home = await importNumberedQueue(2);
    const { client, call } = await connectClient(home);
    const [item] = (await call('query_queue_items', { queue_id: 'q' })).items;
    const judged = { item_id: item.id, judgements: { tone: '=1+1' }, note: 'Sharp, "very"' };
    await call('update_queue_items', { queue_id: 'q', items: [judged] });
    const summary = await client.callTool({ name: 'summarize_queue', arguments: { queue_id: 'q' } });
    const uri = 'heddle://demo/support/queues/q/judgements.csv';
    expect(summary.content[1]).toMatchObject({
      type: 'resource_link',
      uri,
      name: 'q-judgements.csv',
      mimeType: 'text/csv',
    });
    const [content] = (await client.readResource({ uri })).contents;
    const { text, mimeType } = content as { text: string; mimeType: string };
    expect(mimeType).toBe('text/csv');
    const [columns, first, second, end] = text.split('\r\n');
    expect(columns).toBe(
      'project_id,queue_id,item_id,call_id,call_op_name,call_started_at,annotation_state,field,value,note,annotator,judged_at,call.inputs.question,call.output.texts[1],call.output.nothing',
    );
    expect(first).toContain(`demo/support,q,${item.id},call-0,answer,2026-01-01T00:00:00Z,unstarted,tone,'=1+1,,`);
    expect(second).toContain('"Sharp, ""very"""');
    expect(end).toBe('');
    const saved = await run(['queue', 'export', 'q', '--format', 'csv', '--values'], home);
    expect(saved.stdout).toBe(text);
    await expect(client.readResource({ uri: uri.replace('/q/', '/p/') })).rejects.toMatchObject({
      code: expect.any(Number),
    });
  });

  it.each([
    ['2025-06-18', 2],
    ['2025-03-26', 1],
  ])('are linked only in revisions that have links: in %s, a result has %i blocks', async (protocolVersion, blocks) => {
    const server = new LineClient(temporaryFolder());
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } };
    await server.ask({ id: 1, method: 'initialize', params });
    const call = { name: 'summarize_queue', arguments: { queue_id: 'support-triage' } };
    const { result } = await server.ask({ id: 2, method: 'tools/call', params: call });
    expect(result?.content).toHaveLength(blocks);
    await server.end();
  });

  it('are linked in the newest revision too', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder()), { mode: { pin: '2026-07-28' } });
    const call = { name: 'summarize_queue', arguments: { queue_id: 'support-triage' } };
    expect((await client.callTool(call)).content).toHaveLength(2);
  });
});
