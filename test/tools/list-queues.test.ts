import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectClient } from '../support/client.ts';
import { sendResponse } from '../support/fake-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { helpfulField, scoreField, startRecordedService } from '../support/recorded-service.ts';

const helpful = { name: 'helpful', type: 'boolean' };
const score = { name: 'score', type: 'integer', min: 1, max: 5 };

describe('list_queues', () => {
  it('returns the queues whose name contains the given text, with their item counts', async () => {
    const { call } = await connectClient(await importNumberedQueue(3));
    const { queues, text } = await call('list_queues', { name: 'q' });
    expect(queues).toEqual([{ id: 'q', name: 'q', free_fields: true, remaining: 3, total: 3 }]);
    expect(text).toContain('1 queue from offset 0. This is the last page.');
    expect((await call('list_queues', { name: 'nothing like it' })).queues).toEqual([]);
  });

  it('says what to judge in each queue, and how', async () => {
    const { call } = await connectClient(emptyHome(temporaryFolder()));
    const { queues, text } = await call('list_queues', {});
    expect(queues).toEqual([
      {
        id: 'support-triage',
        name: 'support-triage',
        fields: [{ name: 'helpful', type: 'boolean', description: "Does the answer solve the customer's problem?" }],
        remaining: 9,
        total: 12,
      },
    ]);
    expect(text).toContain("helpful (boolean): Does the answer solve the customer's problem?");
  });

  it('names the imported project next to the sample project, and vice versa', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder);
    const file = join(folder, 'items.jsonl');
    const item = { call_id: 'c', call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
    writeFileSync(file, JSON.stringify(item));
    await run(['service', 'import', file, '--project', 'my/team', '--queue', 'mine'], environment);
    const { call } = await connectClient(environment);
    const listed = await call('list_queues', {});
    expect(listed).toMatchObject({ queues: [{ id: 'support-triage' }], other_projects: ['my/team'] });
    expect(listed.text).toContain('Other projects: my/team.');
    expect((await call('list_queues', { project_id: 'my/team' })).queues).toMatchObject([{ id: 'mine', total: 1 }]);
    const own = await connectClient({ ...environment, HEDDLE_PROJECT: 'my/team' });
    expect(await own.call('list_queues', {})).toMatchObject({
      queues: [{ id: 'mine' }],
      other_projects: ['demo/support'],
    });
  });

  it('reads the fields of all queues of a page with one request', async () => {
    const service = await startRecordedService();
    const scorer = 'weave:///team/project/op/scorer:abc';
    service.queues = [
      { id: 'a', name: 'A', description: 'Be strict.', scorer_refs: [helpfulField, scorer] },
      { id: 'b', name: 'B', scorer_refs: [] },
    ];
    const { call } = await connectClient(service.environmentOf('ada'));
    const { queues, text } = await call('list_queues', {});
    expect(queues).toEqual([
      {
        id: 'a',
        name: 'A',
        guidelines: 'Be strict.',
        guidelines_version: '8208b37b',
        fields: [helpful],
        remaining: 0,
        total: 0,
      },
      { id: 'b', name: 'B', free_fields: true, remaining: 0, total: 0 },
      { id: 'q', name: 'Q', fields: [helpful, score], remaining: 3, total: 3 },
    ]);
    expect(text).toContain('helpful (boolean); score (integer, 1 to 5)');
    expect(text).toContain('any name');
    expect(text).toContain('Be strict.');
    expect(service.bodiesOf('/refs/read_batch')).toEqual([{ refs: [helpfulField, scoreField] }]);
    expect(service.requests.filter(({ path }) => path === '/obj/read')).toEqual([]);
  });

  it('reads fields one by one where their references have no digest, and skips those that do not exist', async () => {
    const service = await startRecordedService();
    service.fields = [
      'weave:///team/project/object/helpful:latest',
      'weave:///team/project/object/gone:v0',
      scoreField,
    ];
    const { call } = await connectClient(service.environmentOf('ada'));
    expect((await call('list_queues', {})).queues).toMatchObject([{ id: 'q', fields: [helpful, score] }]);
    expect(service.bodiesOf('/refs/read_batch')).toEqual([{ refs: [scoreField] }]);
    expect(new Set(service.bodiesOf('/obj/read').map(({ object_id }) => object_id))).toEqual(
      new Set(['helpful', 'gone']),
    );
  });

  it('reads the fields around a deleted one in halves when the service refuses to read them all together', async () => {
    const service = await startRecordedService();
    const others = Array.from({ length: 18 }, (_, n) => scoreField.replace('score', `other${n}`));
    service.fields = [helpfulField, scoreField, ...others];
    const { respond } = service;
    service.respond = (request) => {
      if (!request.body.includes('other17:')) respond(request);
      else sendResponse(request, 404, { reason: 'Object other17 was deleted' });
    };
    const { call } = await connectClient(service.environmentOf('ada'));
    expect((await call('list_queues', {})).queues).toMatchObject([{ id: 'q', fields: [helpful, score] }]);
    expect(service.bodiesOf('/refs/read_batch').map(({ refs }) => refs.length)).toEqual([20, 10, 10, 5, 5]);
    expect(service.bodiesOf('/obj/read').map(({ object_id }) => object_id)).toEqual([
      'other13',
      'other14',
      'other15',
      'other16',
      'other17',
    ]);
  });

  it('lists queues without fields at a service that has no objects', async () => {
    const service = await startRecordedService();
    service.missing = new Set(['/refs/read_batch', '/obj/read']);
    const { call } = await connectClient(service.environmentOf('ada'));
    expect((await call('list_queues', {})).queues).toEqual([{ id: 'q', name: 'Q', remaining: 3, total: 3 }]);
  });

  it('names the tools that remain when the service lacks its operation', async () => {
    const service = createServer((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void service.close());
    const { call } = await connectClient(
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
    expect(error.hint).toContain(
      'Tools that work without it: query_queue_items, summarize_queue, read_call, query_calls,',
    );
    expect(error.hint).not.toContain('list_queues');
  });
});
