import { describe, expect, it } from 'vitest';
import { temporaryData, withStore } from '../../support/embedded-service.ts';
import { installedPath, requireFrom } from '../../support/outside-programs.ts';
import { RestartableService } from '../../support/restartable-service.ts';
import { hasWeaveSdk } from '../../support/weave-sdk.ts';

const project_id = 'acme/generated';
const op_name = `weave:///${project_id}/op/answer:${'a'.repeat(43)}`;
const digest = expect.stringMatching(/^[A-Za-z0-9]{43}$/);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

// The generated client has no types that this repository could use.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Client = any;

let url: string;
let authorization: string;
let client: Client;
if (hasWeaveSdk) {
  const data = await temporaryData();
  const { password } = await withStore(data, (store) => store.addUser('tester', 'all'));
  authorization = `Basic ${btoa(`api:${password}`)}`;
  ({ url } = await RestartableService.on(data));
  // The client that is generated from the public service's interface.
  const file = installedPath('weave-sdk', 'weave/dist/generated/traceServerApi.js')!;
  const { Api } = requireFrom('weave-sdk')(file);
  client = new Api({ baseUrl: url, baseApiParams: { headers: { authorization } } });
}

/** The operations of the generated client that a test has used. */
const used = new Set<string>();

/** Calls an operation of the client and returns the value of its response. */
async function send(group: string, operation: string, ...given: unknown[]): Promise<Client> {
  return (await respond(group, operation, ...given)).data;
}

async function respond(group: string, operation: string, ...given: unknown[]): Promise<Client> {
  used.add(`${group}.${operation}`);
  const response = await client[group][operation](...given);
  expect(response.status).toBe(200);
  return response;
}

/** Matches the error that the client throws for a refused request. */
const refusal = (status: number) => expect.objectContaining({ status });

const start = {
  project_id,
  id: 'c1',
  op_name,
  trace_id: 't1',
  started_at: '2026-01-01T00:00:00.000Z',
  attributes: { a: 1 },
  inputs: { question: 'Why?' },
};
const end = {
  project_id,
  id: 'c1',
  ended_at: '2026-01-01T00:00:01.000Z',
  output: 'Because.',
  summary: { usage: { gpt: { requests: 1 } } },
};
const recorded = {
  ...start,
  ...end,
  display_name: null,
  parent_id: null,
  exception: null,
  summary: { usage: { gpt: { requests: 1 } }, weave: { status: 'success', latency_ms: 1000, trace_name: 'answer' } },
  wb_user_id: 'tester',
  wb_run_id: null,
  wb_run_step: null,
  wb_run_step_end: null,
  thread_id: null,
  turn_id: null,
  deleted_at: null,
  storage_size_bytes: null,
  total_storage_size_bytes: null,
};

describe.skipIf(!hasWeaveSdk)('the generated client of npm weave 0.11.1', () => {
  it('reads the health of the service and the SDK version that it requires', async () => {
    expect(await send('health', 'readRootHealthGet')).toMatchObject({ status: 'ok' });
    expect(await send('serverInfo', 'serverInfoServerInfoGet')).toEqual({ min_required_weave_python_version: '0.0.1' });
  });

  it('records calls, one by one and in batches', async () => {
    expect(await send('call', 'callStartCallStartPost', { start })).toEqual({ id: 'c1', trace_id: 't1' });
    expect(await send('call', 'callEndCallEndPost', { end })).toEqual({});
    const batch = [
      { mode: 'start', req: { start: { ...start, id: 'c2', parent_id: 'c1', op_name: 'plain' } } },
      { mode: 'end', req: { end: { ...end, id: 'c2', exception: 'Failed', output: null } } },
    ];
    expect(await send('call', 'callStartBatchCallUpsertBatchPost', { batch })).toEqual({
      res: [{ id: 'c2', trace_id: 't1' }, {}],
    });
    await expect(send('call', 'callStartCallStartPost', { start: {} })).rejects.toEqual(refusal(422));
  });

  it('reads, queries, counts, names and deletes calls', async () => {
    const whole = { project_id, id: 'c1', include_costs: true };
    expect(await send('call', 'callReadCallReadPost', whole)).toEqual({ call: recorded });
    const query = async (body: object) => {
      const request = { project_id, include_costs: true, ...body };
      const response = await respond('calls', 'callsQueryStreamCallsStreamQueryPost', request);
      const lines: string[] = (await response.text()).split('\n').slice(0, -1);
      return lines.map((line) => JSON.parse(line));
    };
    expect(await query({ filter: { trace_roots_only: true } })).toEqual([recorded]);
    const failed = { $expr: { $eq: [{ $getField: 'exception' }, { $literal: 'Failed' }] } };
    const named = { project_id, call_id: 'c2', display_name: 'Second' };
    expect(await send('call', 'callUpdateCallUpdatePost', named)).toEqual({});
    expect(await query({ query: failed, columns: ['display_name', 'parent_id'] })).toMatchObject([
      { id: 'c2', display_name: 'Second', parent_id: 'c1', inputs: {} },
    ]);
    expect(await send('calls', 'callsQueryStatsCallsQueryStatsPost', { project_id, query: failed })).toEqual({
      count: 1,
    });
    const deletion = { project_id, call_ids: ['c2'] };
    expect(await send('calls', 'callsDeleteCallsDeletePost', deletion)).toEqual({ num_deleted: 1 });
    expect(await query({ sort_by: [{ field: 'started_at', direction: 'desc' }] })).toEqual([recorded]);
  });

  it('creates, queries, replaces and purges feedback', async () => {
    const weave_ref = `weave:///${project_id}/call/c1`;
    const note = { project_id, weave_ref, feedback_type: 'wandb.note.1', payload: { note: 'Hm.' }, creator: 'Ada' };
    const created = await send('feedback', 'feedbackCreateFeedbackCreatePost', note);
    const answer = { id: expect.stringMatching(/^\w{17}$/), created_at: time, wb_user_id: 'tester' };
    expect(created).toEqual({ ...answer, payload: { note: 'Hm.' } });
    const reaction = { ...note, feedback_type: 'wandb.reaction.1', payload: { emoji: '👍' } };
    const replacement = { ...reaction, feedback_id: created.id };
    const replaced = await send('feedback', 'feedbackReplaceFeedbackReplacePost', replacement);
    const names = { alias: ':thumbs_up:', detoned: '👍', detoned_alias: ':thumbs_up:' };
    expect(replaced).toEqual({ ...answer, payload: { emoji: '👍', ...names } });
    const { result } = await send('feedback', 'feedbackQueryFeedbackQueryPost', { project_id });
    expect(result).toMatchObject([{ id: replaced.id, weave_ref, feedback_type: 'wandb.reaction.1', creator: 'Ada' }]);
    const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: replaced.id }] } };
    expect(await send('feedback', 'feedbackPurgeFeedbackPurgePost', { project_id, query })).toEqual({});
    expect(await send('feedback', 'feedbackQueryFeedbackQueryPost', { project_id })).toEqual({ result: [] });
    const twoEmojis = { ...reaction, payload: { emoji: '👍👎' } };
    await expect(send('feedback', 'feedbackCreateFeedbackCreatePost', twoEmojis)).rejects.toEqual(refusal(400));
  });

  it('creates, reads and queries objects', async () => {
    const obj = { project_id, object_id: 'settings', val: { colour: 'red' } };
    const created = await send('obj', 'objCreateObjCreatePost', { obj });
    expect(created).toMatchObject({ digest });
    const read = { project_id, object_id: 'settings', digest: created.digest };
    expect(await send('obj', 'objReadObjReadPost', read)).toMatchObject({
      obj: { ...read, val: { colour: 'red' }, version_index: 0, is_latest: 1, kind: 'object', base_object_class: null },
    });
    const query = { project_id, filter: { latest_only: true, is_op: false }, metadata_only: true };
    expect(await send('objs', 'objsQueryObjsQueryPost', query)).toMatchObject({ objs: [{ object_id: 'settings' }] });
    const refs = [`weave:///${project_id}/object/settings:${created.digest}/attr/colour`];
    expect(await send('refs', 'refsReadBatchRefsReadBatchPost', { refs })).toEqual({ vals: ['red'] });
    await expect(send('obj', 'objReadObjReadPost', { ...read, object_id: 'none' })).rejects.toEqual(refusal(404));
  });

  it('creates, changes, queries and counts tables', async () => {
    const created = await send('table', 'tableCreateTableCreatePost', {
      table: { project_id, rows: [{ n: 1 }, { n: 2 }] },
    });
    expect(created).toMatchObject({ digest: expect.stringMatching(/^[0-9a-f]{64}$/), row_digests: [digest, digest] });
    const change = { project_id, base_digest: created.digest, updates: [{ append: { row: { n: 3 } } }] };
    const changed = await send('table', 'tableUpdateTableUpdatePost', change);
    expect(changed.digest).not.toBe(created.digest);
    const of = { project_id, digest: changed.digest };
    const { rows } = await send('table', 'tableQueryTableQueryPost', { ...of, limit: 2, offset: 1 });
    expect(rows).toMatchObject([
      { digest: created.row_digests[1], val: { n: 2 } },
      { digest, val: { n: 3 } },
    ]);
    expect(await send('table', 'tableQueryStatsTableQueryStatsPost', of)).toMatchObject({ count: 3 });
  });

  it('stores and reads files', async () => {
    const file = { project_id, file: new Blob(['text of a file']) };
    const created = await send('file', 'fileCreateFileCreatePost', file);
    expect(created).toEqual({ digest });
    // The client parses the content as JSON, which files are not.
    const response = await fetch(`${url}/file/content`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ project_id, digest: created.digest }),
    });
    expect([response.status, await response.text()]).toEqual([200, 'text of a file']);
    used.add('file.fileContentFileContentPost');
  });

  it('stores, queries and purges prices, and adds costs to calls', async () => {
    const costs = {
      gpt: { prompt_token_cost: 0.5, completion_token_cost: 2, effective_date: '2025-01-01T00:00:00Z' },
      other: { prompt_token_cost: 1, completion_token_cost: 1 },
    };
    const { ids } = await send('cost', 'costCreateCostCreatePost', { project_id, costs });
    expect(ids).toEqual([
      [expect.any(String), 'gpt'],
      [expect.any(String), 'other'],
    ]);
    const ofGpt = { $expr: { $eq: [{ $getField: 'llm_id' }, { $literal: 'gpt' }] } };
    const price = {
      prompt_token_cost: 0.5,
      completion_token_cost: 2,
      prompt_token_cost_unit: 'USD',
      completion_token_cost_unit: 'USD',
      effective_date: '2025-01-01T00:00:00.000Z',
      provider_id: 'default',
    };
    expect(await send('cost', 'costQueryCostQueryPost', { project_id, query: ofGpt })).toEqual({
      results: [{ id: ids[0][0], llm_id: 'gpt', ...price, effective_date: '2025-01-01T00:00:00.000' }],
    });
    const usage = { gpt: { requests: 1, prompt_tokens: 10, output_tokens: 3, total_tokens: 13 }, unknown: {} };
    const batch = [
      { mode: 'start', req: { start: { ...start, id: 'priced' } } },
      { mode: 'end', req: { end: { ...end, id: 'priced', summary: { usage } } } },
    ];
    await send('call', 'callStartBatchCallUpsertBatchPost', { batch });
    const read = async (include_costs: boolean) =>
      (await send('call', 'callReadCallReadPost', { project_id, id: 'priced', include_costs })).call.summary.weave;
    expect((await read(false)).costs).toBe(undefined);
    expect((await read(true)).costs).toEqual({
      gpt: {
        prompt_tokens: 10,
        completion_tokens: 3,
        requests: 1,
        total_tokens: 13,
        prompt_tokens_total_cost: 5,
        completion_tokens_total_cost: 6,
        ...price,
        pricing_level: 'project',
        pricing_level_id: project_id,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/),
        effective_date: '2025-01-01 00:00:00.000',
        created_by: 'tester',
      },
    });
    const query = { $expr: { $or: ids.map(([id]: [string]) => ({ $eq: [{ $getField: 'id' }, { $literal: id }] })) } };
    expect(await send('cost', 'costPurgeCostPurgePost', { project_id, query })).toEqual({});
    expect(await send('cost', 'costQueryCostQueryPost', { project_id })).toEqual({ results: [] });
    await expect(send('cost', 'costPurgeCostPurgePost', { project_id, query: ofGpt })).rejects.toEqual(refusal(400));
  });

  it('has no operation that these tests do not call', () => {
    const all = Object.entries<object>(client).flatMap(([group, operations]) =>
      typeof operations === 'object' && operations !== null
        ? Object.keys(operations)
            .filter((name) => /(Get|Post|Put|Delete)$/.test(name))
            .map((name) => `${group}.${name}`)
        : [],
    );
    expect(all.filter((name) => !used.has(name))).toEqual([]);
    expect(used.size).toBe(all.length);
  });
});
