import { describe, expect, it } from 'vitest';
import { createQueue, type EitherService, startBothServices } from '../support/both-services.ts';

const services = await startBothServices();
const unknownProject: Record<EitherService['name'], object> = {
  'the embedded service': {
    message: 'There is no project no/where.',
    hint: 'The nearest projects are acme/support, team/project. Pass one of them as project_id.',
  },
  'the recorded public service': {
    message: 'Project no/where has no queue with the id "q".',
    hint: 'The project has no queues. Check project_id.',
  },
};

describe.each(services)('on $name', (service) => {
  const { call } = service.ada;
  const callsIn = async (queue_id: string): Promise<string[]> =>
    (await call('query_queue_items', { queue_id })).items.map(({ call_id }: { call_id: string }) => call_id).sort();

  it('create_queue and list_queues show guidelines, fields and the number of remaining items', async () => {
    const fields = [
      { name: 'kind', type: 'choice', choices: ['yes', 'no'] },
      { name: 'score', type: 'integer', min: 1, max: 5, description: 'Overall' },
    ];
    const definition = { name: 'Refunds', guidelines: 'Judge the answer.', fields };
    const { queue_id, existed } = await call('create_queue', definition);
    expect(existed).toBe(false);
    expect(await call('create_queue', definition)).toMatchObject({ queue_id, existed: true });
    await call('add_queue_items', { queue_id, call_ids: ['call-0', 'call-1', 'call-2'] });
    const { items } = await call('query_queue_items', { queue_id });
    const states = ['completed', 'in_progress'].map((annotation_state, n) => ({
      item_id: items[n].id,
      annotation_state,
    }));
    await call('update_queue_items', { queue_id, items: states });
    expect((await call('list_queues', { name: 'refunds' })).queues).toEqual([
      {
        id: queue_id,
        name: 'Refunds',
        guidelines: 'Judge the answer.',
        guidelines_version: 'c0e57072',
        fields: [{ name: 'kind', choices: ['yes', 'no'] }, fields[1]],
        remaining: 2,
        total: 3,
      },
    ]);
  });

  it('review_queue shows each account what it has not finished, with its own state, whatever the others did', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1', 'call-2', 'call-3']);
    const items = [
      { item_id: ids[0], judgements: { helpful: true, score: 5 }, annotation_state: 'completed' },
      { item_id: ids[1], annotation_state: 'skipped' },
      { item_id: ids[2], judgements: { helpful: true }, annotation_state: 'in_progress' },
    ];
    const toDoOf = async ({ call: callTool }: EitherService['ada']) =>
      (await callTool('review_queue', { queue_id, limit: 20 })).items.map(
        ({ call_id, annotation_state }: { call_id: string; annotation_state: string }) => [call_id, annotation_state],
      );
    await call('update_queue_items', { queue_id, items, by_user: true });
    expect(await toDoOf(service.ada)).toEqual([
      ['call-2', 'in_progress'],
      ['call-3', 'unstarted'],
    ]);
    const unstarted = ['call-0', 'call-1', 'call-2', 'call-3'].map((call_id) => [call_id, 'unstarted']);
    expect(await toDoOf(service.bob)).toEqual(unstarted);
    // The service shows what bob has done last; what ada has finished follows from her judgements.
    await service.bob.call('update_queue_items', { queue_id, items: [items[0]], by_user: true });
    expect(await toDoOf(service.ada)).toEqual([
      ['call-2', 'in_progress'],
      ['call-3', 'unstarted'],
    ]);
    expect(await toDoOf(service.bob)).toEqual(unstarted.slice(1));
    const second = await service.bob.call('review_queue', { queue_id, limit: 2, offset: 2 });
    expect(second.items.map(({ call_id }: { call_id: string }) => call_id)).toEqual(['call-3']);
  });

  it('update_queue_items stores what two people judge at the same time, but refuses an agent what others judged since', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0']);
    const { as_of } = await call('review_queue', { queue_id, limit: 20 });
    const items = [{ item_id: ids[0], judgements: { helpful: true }, annotation_state: 'completed' }];
    const { as_of: alsoAsOf } = await service.bob.call('review_queue', { queue_id, limit: 20 });
    await service.bob.call('update_queue_items', { queue_id, items, as_of: alsoAsOf, by_user: true });
    const byAgent = await call('update_queue_items', { queue_id, items, as_of });
    expect(byAgent).toMatchObject({ counts: { refused: 1 }, items: [{ error: { code: 'conflict' } }] });
    expect((await call('update_queue_items', { queue_id, items, as_of, by_user: true })).counts).toEqual({ done: 1 });
  });

  it('add_queue_items adds calls by id after a dry run, and reports duplicates and unknown calls', async () => {
    const { queue_id } = await createQueue(service, ['call-0']);
    const request = { queue_id, call_ids: ['call-0', 'call-1', 'call-2', 'nowhere'] };
    const unknown = { matched: 3, duplicates: 1, unknown: ['nowhere'], unknown_count: 1 };
    expect(await call('add_queue_items', { ...request, dry_run: true })).toMatchObject({ ...unknown, selected: 2 });
    expect(await callsIn(queue_id)).toEqual(['call-0']);
    const added = await call('add_queue_items', request);
    expect(added).toMatchObject({ ...unknown, added: 2 });
    expect(added.text).toContain(`Added 2 calls to queue ${queue_id}; 1 of these calls were in it already.`);
    expect(added.text).toContain('Unknown calls: nowhere.');
    expect(await call('add_queue_items', request)).toMatchObject({ ...unknown, added: 0, duplicates: 3 });
    expect(await callsIn(queue_id)).toEqual(['call-0', 'call-1', 'call-2']);
  });

  it('add_queue_items names the nearest calls when none of the ids exists', async () => {
    const { queue_id } = await createQueue(service, ['call-0']);
    const error = { code: 'not_found', hint: expect.stringContaining(' The nearest calls are failed.') };
    expect(await call('add_queue_items', { queue_id, call_ids: ['falied', 'x'] })).toMatchObject({
      error: {
        ...error,
        message: 'Nothing was added: project team/project has no recorded call with any of these 2 ids.',
      },
    });
  });

  it('add_queue_items adds the calls that a filter finds, or the same sample of them for a seed', async () => {
    const { queue_id } = await createQueue(service, ['plain']);
    expect(await call('add_queue_items', { queue_id, filter: { op_name: 'plan' } })).toMatchObject({ added: 3 });
    expect(await callsIn(queue_id)).toEqual(['call-0', 'call-2', 'call-4', 'plain']);
    const none = await call('add_queue_items', { queue_id, filter: { op_name: 'plan', text: 'zebra' } });
    expect(none).toMatchObject({ matched: 0, added: 0 });
    expect((await call('add_queue_items', { queue_id, filter: { op_name: 'pla' } })).error).toMatchObject({
      code: 'not_found',
      message: 'No recorded call of project team/project is of the operation "pla".',
      hint: expect.stringMatching(/^The nearest operations are plan, /),
    });
    const sample = { filter: { op_name: 'bulk' }, sample: { n: 3, seed: 7 } };
    expect(await call('add_queue_items', { queue_id, ...sample })).toMatchObject({ matched: 120, added: 3 });
    expect(await call('add_queue_items', { queue_id, ...sample })).toMatchObject({ added: 0, duplicates: 3 });
    expect((await callsIn(queue_id)).slice(0, 3)).toEqual(['bulk-34', 'bulk-42', 'bulk-82']);
  });

  it.each([
    ['a plain operation name, also in references', { op_name: 'answer' }, ['newer', 'failed', 'plain']],
    ['a reference to an operation', { op_name: 'weave:///team/project/op/answer:abc' }, ['failed']],
    ['every version of an operation', { op_name: 'weave:///team/project/op/answer:*' }, ['newer', 'failed']],
    ['an operation without a version', { op_name: 'weave:///team/project/op/answer' }, ['newer', 'failed']],
    ['calls that failed', { has_error: true }, ['failed']],
    ['a trace', { trace_id: 'trace-1' }, ['failed', 'plain']],
    ['calls of a trace that did not fail', { trace_id: 'trace-1', has_error: false }, ['plain']],
    [
      'a span of days, with the first and without the last',
      { started_after: '2026-01-02', started_before: '2026-01-04' },
      ['newer', 'failed'],
    ],
    [
      'a span of times with zones',
      { started_after: '2026-01-02T01:00:00+01:00', started_before: '2026-01-03 00:00' },
      ['failed'],
    ],
    ['text of the output in any case', { text: 'over there' }, ['newer']],
    ['text that JSON escapes', { text: '"Prüfung"?' }, ['plain']],
    ['nothing', { text: 'not recorded anywhere' }, []],
  ])('query_calls finds %s', async (_, filter, expected) => {
    const page = await call('query_calls', { filter: { started_before: '2026-01-10', ...filter } });
    expect(page.calls.map(({ id }: { id: string }) => id)).toEqual(expected);
    expect(page.total).toBe(expected.length);
  });

  it('list_queues names the nearest queues for a name that no queue has', async () => {
    const { queue_id } = await call('create_queue', { name: 'Escalations' });
    const hint = expect.stringContaining(`The nearest ids are ${queue_id} ("Escalations")`);
    const text = expect.stringContaining(`No queues match. The nearest ids are ${queue_id} ("Escalations")`);
    expect(await call('list_queues', { name: 'Escallations' })).toMatchObject({ queues: [], hint, text });
  });

  it.each([
    ['query_queue_items', {}],
    ['summarize_queue', {}],
    ['add_queue_items', { call_ids: ['call-0'] }],
    ['update_queue_items', { items: [{ item_id: 'x', judgements: { helpful: true } }] }],
    ['update_queue_items', { items: [{ item_id: 'x', annotation_state: 'skipped' }] }],
    ['update_queue_items', { filter: {}, change: { annotation_state: 'skipped' } }],
  ])('%s names the nearest queues for an unknown one, with %j', async (tool, args) => {
    const { queue_id } = await call('create_queue', { name: 'Support triage' });
    const result = await call(tool, { queue_id: 'suport-triage', ...args });
    const error = result.error ?? result.items[0].error;
    expect(error).toMatchObject({
      code: 'not_found',
      message: 'Project team/project has no queue with the id "suport-triage".',
      hint: expect.stringMatching(
        new RegExp(
          `^The nearest ids are ${queue_id} [(]"Support triage"[)], .*[.] Call list_queues for all of them[.]$`,
        ),
      ),
    });
  });

  it('query_queue_items suggests the id of a queue when it gets nearly its name', async () => {
    const { queue_id } = await call('create_queue', { name: 'Named queue' });
    const { error } = await call('query_queue_items', { queue_id: 'named queue'.replace(' ', '-') });
    expect(error.hint).toContain(`The nearest ids are ${queue_id} ("Named queue")`);
  });

  it.each<[string, object, Record<EitherService['name'], object>]>([
    ['query_queue_items', { queue_id: 'q' }, unknownProject],
    ['summarize_queue', { queue_id: 'q' }, unknownProject],
    ['add_queue_items', { queue_id: 'q', call_ids: ['plain'] }, unknownProject],
    ['update_queue_items', { queue_id: 'q', filter: {}, change: { note: 'Why?' } }, unknownProject],
    [
      'read_call',
      { call_id: 'plain' },
      {
        ...unknownProject,
        'the recorded public service': { message: 'Project no/where has no recorded call "plain".' },
      },
    ],
  ])('%s refuses an unknown project, naming the nearest if the service lists them', async (tool, args, expected) => {
    const { error } = await call(tool, { ...args, project_id: 'no/where' });
    expect(error).toMatchObject({ code: 'not_found', ...expected[service.name] });
  });

  it('read_call names the nearest calls for an unknown one, and lists paths that do not exist', async () => {
    expect((await call('read_call', { call_id: 'falied' })).error).toMatchObject({
      code: 'not_found',
      message: 'Project team/project has no recorded call "falied".',
      hint: expect.stringContaining('The nearest calls are failed.'),
    });
    const paths = ['inputs.question', 'inputs.questoin'];
    expect(await call('read_call', { call_id: 'plain', paths })).toMatchObject({
      values: { 'inputs.question': 'Wo ist die "Prüfung"?' },
      missing: ['inputs.questoin'],
      members: { inputs: ['question'] },
      text: expect.stringContaining('These paths do not exist: inputs.questoin; inputs has question'),
    });
  });

  it('a filter with an unknown field names the nearest fields', async () => {
    const { queue_id } = await createQueue(service, ['call-0']);
    for (const tool of ['query_queue_items', 'summarize_queue']) {
      expect((await call(tool, { queue_id, filter: { field: 'Helpfull' } })).error).toMatchObject({
        code: 'invalid_arguments',
        message: `Queue ${queue_id} has no field "Helpfull".`,
        hint: 'The nearest fields are helpful, score.',
      });
    }
  });

  it('update_queue_items takes the id of a call for its item, and refuses an item that is named twice', async () => {
    const { queue_id, ids } = await createQueue(service, ['call-0', 'call-1']);
    const items = [{ item_id: 'call-1', annotation_state: 'skipped' }];
    expect(await call('update_queue_items', { queue_id, items })).toMatchObject({
      items: [{ item_id: ids[1], result: 'done', annotation_state: 'skipped' }],
    });
    const twice = [...items, { item_id: ids[1], note: 'Again.' }];
    expect((await call('update_queue_items', { queue_id, items: twice })).error.message).toBe(
      `Nothing was changed: item ${ids[1]} appears twice, by its id and by its call.`,
    );
  });

  it('pages past the end say how many match', async () => {
    const { queue_id } = await createQueue(service, ['call-0', 'call-1', 'call-2']);
    const items = await call('query_queue_items', { queue_id, filter: { call_op_name: 'plan' }, offset: 5 });
    expect(items).toMatchObject({ items: [], matching: 2, text: 'No items at offset 5: 2 match.' });
    const none = await call('query_queue_items', { queue_id, limit: 0, offset: 3 });
    expect(none).toMatchObject({ items: [], matching: 3, text: 'No items at offset 3: 3 match.' });
    const misspelt = await call('query_queue_items', { queue_id, filter: { call_op_name: 'plam' }, offset: 5 });
    expect(misspelt.error.message).toContain('has no call of the operation "plam"');
    const found = await call('query_calls', { filter: { op_name: 'chat' }, offset: 5 });
    expect(found).toMatchObject({
      calls: [],
      total: 3,
      text: expect.stringContaining('No calls at offset 5: only 3 match.\nNow: '),
    });
    const { name } = (await call('list_queues', { limit: 1 })).queues[0];
    const queues = await call('list_queues', { name, offset: 5 });
    const text = expect.stringContaining('No queues at offset 5: 1 match.');
    expect(queues).toMatchObject({ queues: [], matching: 1, text });
  });
});
