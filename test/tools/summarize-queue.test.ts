import { describe, expect, it } from 'vitest';
import { summarizeQueueTool } from '../../src/tools/summarize-queue.ts';
import { connectClient } from '../support/client.ts';
import { type FakeService, sendResponse, startFakeService } from '../support/fake-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { hasReviewItems, reviewItems } from '../support/review-items.ts';
import { bodyOf, callIds, projectId, startServiceWithCalls } from '../support/service-with-calls.ts';

const service = await startServiceWithCalls();

describe('summarize_queue', async () => {
  const { call } = await connectClient(
    emptyHome(temporaryFolder(), {
      HEDDLE_BASE_URL: service.service.running.url,
      HEDDLE_PROJECT: projectId,
      HEDDLE_USERNAME: 'ada',
      HEDDLE_PASSWORD: service.passwords.ada,
    }),
  );

  it('counts by state, by operation and by both, and only the items that match the filter', async () => {
    const queue_id = await service.createQueue({ calls: callIds });
    await service.move(queue_id, 'call-0', 'completed');
    await service.move(queue_id, 'call-1', 'completed');
    await service.move(queue_id, 'call-3', 'skipped');
    expect(await call('summarize_queue', { queue_id })).toEqual({
      total_items: 6,
      tables: [
        {
          columns: ['state', 'items'],
          rows: [
            ['unstarted', 3],
            ['completed', 2],
            ['skipped', 1],
          ],
        },
      ],
      text: ['6 items.', 'state\titems', 'unstarted\t3', 'completed\t2', 'skipped\t1'].join('\n'),
    });
    expect((await call('summarize_queue', { queue_id, by: ['operation'] })).tables).toEqual([
      {
        columns: ['operation', 'items'],
        rows: [
          ['chat', 3],
          ['plan', 3],
        ],
      },
    ]);
    const both = await call('summarize_queue', { queue_id, by: ['state', 'operation'] });
    expect(both.tables).toEqual([
      {
        columns: ['operation', 'items', 'unstarted', 'completed', 'skipped'],
        rows: [
          ['chat', 3, 1, 1, 1],
          ['plan', 3, 2, 1, 0],
        ],
        total: [6, 3, 2, 1],
      },
    ]);
    expect(both.text).toContain('\n(total)\t6\t3\t2\t1');
    const filter = { call_op_name: 'chat', annotation_states: ['completed', 'skipped'] };
    expect(await call('summarize_queue', { queue_id, filter })).toMatchObject({
      total_items: 2,
      tables: [
        {
          rows: [
            ['completed', 1],
            ['skipped', 1],
          ],
        },
      ],
    });
  });

  it('counts the latest judgements by annotator and by field, and compares the annotators', async () => {
    const queue_id = await judgedQueue();
    expect((await call('summarize_queue', { queue_id, by: ['day'] })).now).toMatch(/Z$/);
    expect(await call('summarize_queue', { queue_id, by: ['annotator'] })).toMatchObject({
      total_items: 6,
      total_judgements: 8,
      tables: [
        {
          columns: ['annotator', 'judgements', 'items', 'today', 'shared', 'disputed', 'seconds per item'],
          rows: [
            ['ada', 5, 4, expect.any(Number), 3, 1, '-'],
            ['bob (claude via heddle)', 3, 3, expect.any(Number), 3, 1, '-'],
          ],
        },
      ],
    });
    const ofAda = await call('summarize_queue', { queue_id, by: ['annotator'], filter: { judged_by: 'ada' } });
    expect(ofAda.tables[0].rows).toEqual([['ada', 5, 4, expect.any(Number), 3, 1, '-']]);
    const byField = await call('summarize_queue', { queue_id, by: ['field'] });
    const itemOf = async (name: string): Promise<string> => (await service.item(queue_id, name)).id;
    expect(byField.tables).toEqual([
      {
        field: 'helpful',
        columns: ['value', 'judgements'],
        rows: [
          [true, 4],
          [false, 3],
        ],
      },
      { field: 'score', columns: ['judgements', 'mean', 'min', 'max'], rows: [[1, 4, 4, 4]] },
      { field: 'score', columns: ['value', 'judgements'], rows: [[4, 1]] },
    ]);
    expect(byField.agreement).toEqual([
      {
        field: 'helpful',
        annotators: ['ada', 'bob (claude via heddle)'],
        items: 3,
        percent: 66.7,
        kappa: 0.4,
        kappa_interval: [-0.368, 1],
        classes: [false, true],
        confusion: [
          [1, 0],
          [1, 1],
        ],
        disagreements: 1,
        disagreement_ids: [await itemOf('call-2')],
      },
    ]);
    expect(byField.text).toContain(
      [
        "agreement on helpful of ada and bob (claude via heddle): 3 items judged by both, 66.7% agree, Cohen's unweighted kappa 0.4 (95 %: -0.368 to 1)",
        'ada \\ bob (claude via heddle)\tfalse\ttrue',
        'false\t1\t0',
        'true\t1\t1',
        `1 disagreement, item ids: ${await itemOf('call-2')}`,
      ].join('\n'),
    );
    expect((await call('summarize_queue', { queue_id, by: ['annotator', 'field'] })).tables[0]).toEqual({
      field: 'helpful',
      columns: ['annotator', 'judgements', true, false],
      rows: [
        ['ada', 4, 3, 1],
        ['bob (claude via heddle)', 3, 1, 2],
      ],
      total: [7, 4, 3],
    });
    expect((await call('summarize_queue', { queue_id, by: ['operation', 'annotator'] })).tables).toEqual([
      {
        columns: ['operation', 'items', 'ada', 'bob (claude via heddle)'],
        rows: [
          ['chat', 2, 2, 1],
          ['plan', 2, 2, 2],
        ],
        total: [4, 4, 3],
      },
    ]);
  });

  it('leaves out the judgements of items that do not match the filter', async () => {
    const queue_id = await judgedQueue();
    const filter = { call_op_name: 'chat' };
    const result = await call('summarize_queue', { queue_id, by: ['field'], filter });
    expect(result).toMatchObject({
      total_items: 3,
      total_judgements: 4,
      agreement: [{ items: 1, percent: 100, no_kappa: 'one item is too few', confusion: [[1]] }],
    });
    expect(result.agreement[0]).not.toHaveProperty('kappa');
    expect(result.text).toContain('100% agree, kappa undefined: one item is too few');
  });

  it('counts an empty queue', async () => {
    const queue_id = await service.createQueue();
    expect(await call('summarize_queue', { queue_id, by: ['operation', 'field'] })).toMatchObject({
      total_items: 0,
      total_judgements: 0,
      tables: [],
    });
  });
});

describe('summarize_queue at another service', () => {
  it('reads pages where the service refuses to count a queue with one request', async () => {
    const service = await startListingService(3, 2);
    const { respond } = service;
    service.respond = (request) => {
      if (request.path.endsWith('/items/summary')) sendResponse(request, 413, '{"detail":"too much memory"}');
      else respond(request);
    };
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    expect(await call('summarize_queue', { queue_id: 'q', by: ['state'] })).toMatchObject({ total_items: 3 });
  });

  it('reads items and judgements in pages of 5,000, and reports its progress', async () => {
    const service = await startListingService(5001, 5001);
    const { client } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const progress: object[] = [];
    const { structuredContent } = await client.callTool(
      { name: 'summarize_queue', arguments: { queue_id: 'q', by: ['annotator'], filter: { added_by: 'me' } } },
      { onprogress: (report) => progress.push(report) },
    );
    expect(structuredContent).toMatchObject({
      total_items: 5001,
      total_judgements: 5001,
      tables: [{ rows: [['u', 5001, 5001, 0, 0, 0, '-']] }],
    });
    // The first request asks whether the service counts by itself.
    expect(service.requests[0]!.path).toBe('/annotation_queues/q/items/summary');
    expect(service.requests.slice(1).map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
      ...[0, 5000].map((offset) => [
        '/feedback/query',
        {
          project_id: 'team/project',
          query: { $expr: { $eq: [{ $getField: 'queue_id' }, { $literal: 'q' }] } },
          fields: ['id', 'weave_ref', 'feedback_type', 'payload', 'created_at', 'wb_user_id', 'creator', 'queue_id'],
          sort_by: [
            { field: 'created_at', direction: 'asc' },
            { field: 'id', direction: 'asc' },
          ],
          limit: 5000,
          offset,
        },
      ]),
      ...[0, 5000].map((offset) => [
        '/annotation_queues/q/items/query',
        { project_id: 'team/project', filter: { added_by: 'me' }, limit: 5000, offset },
      ]),
    ]);
    expect(progress[0]).toMatchObject({ progress: 5000, message: '5000 judgements' });
  });

  it('counts feedback once when the service lists it twice, but separately for two users with the same id', async () => {
    const service = await startListingService(1, 0);
    service.feedback = [feedbackOf(0, {}), feedbackOf(0, {}), feedbackOf(0, { wb_user_id: 'v' })];
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    expect((await call('summarize_queue', { queue_id: 'q', by: ['annotator'] })).tables[0].rows).toEqual([
      ['u', 1, 1, 0, 1, 0, '-'],
      ['v', 1, 1, 0, 1, 0, '-'],
    ]);
  });

  it('takes the judgement with the latest time, whether or not the time has a fraction', async () => {
    const service = await startListingService(1, 0);
    const at = (id: string, created_at: string, value: unknown) =>
      feedbackOf(0, { id, created_at, payload: { value } });
    service.feedback = [
      at('b', '2026-01-02T00:00:00', 'second'),
      at('a', '2026-01-02T00:00:00.500000', 'third'),
      at('d', '2026-01-01T00:00:00', 'first'),
    ];
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    expect((await call('summarize_queue', { queue_id: 'q', by: ['field'] })).tables[0].rows).toEqual([['third', 1]]);
  });

  it('says that a service cannot list judgements, and counts by state and operation there', async () => {
    const service = await startListingService(3, 0);
    service.feedback = undefined;
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    for (const by of [['field'], ['state', 'annotator']]) {
      expect((await call('summarize_queue', { queue_id: 'q', by })).error).toMatchObject({
        code: 'unsupported',
        message: 'The service cannot list judgements. Count by state and operation only.',
      });
    }
    expect(await call('summarize_queue', { queue_id: 'q', by: ['state', 'operation'] })).toMatchObject({
      total_items: 3,
    });
  });

  it('keeps an overview of 2142 items short in both forms, whatever the names of their operations', async () => {
    const service = await startListingService(
      2142,
      0,
      (index) => `weave:///team/project/op/step_${index % 40}:${'d'.repeat(43)}`,
    );
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const { text, ...structured } = await call('summarize_queue', { queue_id: 'q', by: ['operation', 'state'] });
    expect(text.length).toBeLessThan(2000);
    expect(JSON.stringify(structured).length).toBeLessThan(2000);
    expect(structured.tables[0].rows.length + structured.tables[0].others.rows).toBe(40);
    expect(structured.tables[0].total).toEqual([2142, 2142]);
  });

  it('escapes invisible characters in names and values', async () => {
    const service = await startListingService(1, 0, () => 'op\n(total)\t7\u202e');
    service.feedback = [feedbackOf(0, { feedback_type: 'heddle.judgement.tone', payload: { value: 'x\ty\nz' } })];
    const { call } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const { text } = await call('summarize_queue', { queue_id: 'q', by: ['operation', 'field'] });
    expect(text.split('\n')).toEqual([
      '1 item, 1 judgement.',
      'field tone:',
      'operation\tjudgements\t"x\\ty\\nz"',
      '"op\\n(total)\\t7\\u202e"\t1\t1',
    ]);
  });
});

describe.skipIf(!hasReviewItems)('summarize_queue on 2142 real review items', () => {
  it('shows the 20 most frequent operations and counts the others, in less than 2,000 characters', async () => {
    const environment = emptyHome(temporaryFolder());
    await run(['service', 'import', reviewItems, '--project', 'demo/review', '--queue', 'commits'], environment);
    const { call } = await connectClient(environment);
    const by = ['operation', 'state'];
    const { text, ...structured } = await call('summarize_queue', {
      project_id: 'demo/review',
      queue_id: 'commits',
      by,
    });
    expect(structured.tables).toMatchObject([
      { others: { rows: 9, cells: [9, 6, 0, 2, 1], next_offset: 20 }, total: [2142, 1093, 350, 367, 332] },
    ]);
    expect(structured.tables[0].rows).toHaveLength(20);
    expect(structured.tables[0].rows[0]).toEqual(['review.change', 603, 317, 104, 92, 90]);
    expect(text).toContain('\n(9 others, next: offset 20)\t9\t6\t0\t2\t1\n(total)\t2142\t1093\t350\t367\t332');
    expect(text.length).toBeLessThan(2000);
    expect(JSON.stringify(structured).length).toBeLessThan(2000);
  });
});

/** Creates a queue of six items, of which ada and bob have judged some, ada one of them twice. */
async function judgedQueue(): Promise<string> {
  const queue_id = await service.createQueue({ calls: callIds });
  const field = (name: string, type: string) =>
    service.createObject(name, { name, field_schema: { type } }, { builtin_object_class: 'AnnotationSpec' });
  const references = { helpful: await field('helpful', 'boolean'), score: await field('score', 'number') };
  const judge = async (who: string, call: string, name: keyof typeof references, value: unknown, creator?: string) =>
    bodyOf(
      await service.post(
        '/feedback/create',
        {
          weave_ref: `weave:///${projectId}/call/${call}`,
          feedback_type: `wandb.annotation.${name}`,
          annotation_ref: references[name],
          payload: { value },
          queue_id,
          creator,
        },
        who,
      ),
    );
  await judge('ada', 'call-0', 'helpful', false);
  await judge('ada', 'call-1', 'helpful', false);
  await judge('ada', 'call-2', 'helpful', true, 'ada');
  await judge('ada', 'call-3', 'helpful', true);
  await judge('ada', 'call-3', 'score', 4);
  await judge('ada', 'call-0', 'helpful', true);
  const creator = 'claude via heddle';
  await judge('bob', 'call-0', 'helpful', true, creator);
  await judge('bob', 'call-1', 'helpful', false, creator);
  await judge('bob', 'call-2', 'helpful', false, creator);
  return queue_id;
}

interface ListingService extends FakeService {
  /** The feedback that it lists; it has no operation for that when undefined. */
  feedback: object[] | undefined;
}

/** Starts a service that lists the items i0, i1, … of the queue `q`, and a judgement of each of the first ones. */
async function startListingService(
  items: number,
  judgements: number,
  operationOf: (index: number) => string = () => 'op',
): Promise<ListingService> {
  const service: ListingService = Object.assign(await startFakeService(), {
    feedback: Array.from({ length: judgements }, (_, index) => feedbackOf(index, {})),
  });
  const all = Array.from({ length: items }, (_, index) => itemOf(index, operationOf(index)));
  service.respond = (request) => {
    const { offset, limit } = JSON.parse(request.body);
    const page = <Row>(rows: Row[]): Row[] => rows.slice(offset, offset + limit);
    if (request.path === '/annotation_queues/q/items/query') return sendResponse(request, 200, { items: page(all) });
    if (request.path !== '/feedback/query' || !service.feedback) {
      return sendResponse(request, 404, { detail: 'Not Found' });
    }
    sendResponse(request, 200, { result: page(service.feedback) });
  };
  return service;
}

function itemOf(index: number, call_op_name: string): object {
  const time = '2026-01-01T00:00:00';
  return {
    id: `i${index}`,
    project_id: 'internal',
    queue_id: 'q',
    call_id: `c${index}`,
    call_started_at: time,
    call_op_name,
    call_trace_id: 't',
    display_fields: [],
    annotation_state: 'unstarted',
    created_at: time,
    created_by: 'me',
    updated_at: time,
  };
}

function feedbackOf(index: number, members: object): object {
  return {
    id: `f${index}`,
    weave_ref: `weave:///team/project/call/c${index}`,
    feedback_type: 'wandb.annotation.helpful',
    payload: { value: true },
    created_at: '2026-01-02T00:00:00',
    wb_user_id: 'u',
    creator: null,
    ...members,
  };
}

describe('a summary beyond the size limit', () => {
  const table = { columns: ['state', 'items'], rows: [['completed', 1]], total: ['', 1] };
  const annotators: [string, string] = ['ada', 'bob'];
  const agreement = { field: 'helpful', annotators, items: 1 };
  const left_out =
    'Tables, comparisons or disagreements are left out because of the size limit. Use one dimension, a filter, or a lower limit or number of disagreements.';

  it('keeps as many tables and comparisons as the limit has room for, and says so', () => {
    const summary = { total_items: 1, tables: [table, table, table, table], agreement: [agreement, agreement] };
    expect(summarizeQueueTool.shrink!(summary, 0.5)).toEqual({
      total_items: 1,
      tables: [table, table],
      agreement: [agreement],
      left_out,
    });
    expect(summarizeQueueTool.shrink!(summary, 0.3)).toEqual({ total_items: 1, tables: [table], left_out });
    expect(summarizeQueueTool.shrink!(summary, 0.1)).toBeUndefined();
  });
});
