import { describe, expect, it } from 'vitest';
import { type ClientOptions, connectClient } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';
import { importNumberedQueue } from '../support/numbered-queue.ts';
import { connectRaw, type Json } from '../support/raw-client.ts';

const extension = 'io.modelcontextprotocol/tasks';
const mode: ClientOptions['mode'] = { pin: '2026-07-28' };
const skipAll = { queue_id: 'q', filter: {}, change: { annotation_state: 'skipped' } };

const withTasks = { extensions: { [extension]: {} } };
const asking = { ...withTasks, elicitation: { form: {} } };

describe('a client with tasks', () => {
  it('gets the result of a run of an evaluation from its task', async () => {
    const { call, settle } = await connectRaw(emptyHome(temporaryFolder()), withTasks);
    const evaluation = { name: 'Echo', dataset: 'tickets' };
    expect((await call('create_evaluation', evaluation)).result.resultType).toBe('complete');
    const args = { evaluation: 'Echo', model: 'heddle/echo', prompt: '{question}' };
    const { result: task } = await call('run_evaluation', args);
    expect(task).toMatchObject({
      resultType: 'task',
      status: 'working',
      taskId: expect.any(String),
      ttlMs: 3_600_000,
      pollIntervalMs: 1000,
    });
    const { result } = await settle(task.taskId, 'completed');
    expect(result.structuredContent).toMatchObject({ status: 'complete', run_id: expect.any(String) });
    expect(result.content[0].text).toContain('complete');
  });

  it('is asked by the task, whose work begins once the user has agreed', async () => {
    const { send, call, settle } = await connectRaw(await importNumberedQueue(25), asking);
    const { result: task } = await call('update_queue_items', skipAll);
    const { inputRequests } = await settle(task.taskId, 'input_required');
    const [[key, request]] = Object.entries(inputRequests) as [[string, Json]];
    expect(request).toMatchObject({
      method: 'elicitation/create',
      params: {
        message:
          'Change 25 items of queue "q": set to skipped? Skipped items stay skipped, completed ones until their judgements are taken back.',
      },
    });
    await send('tasks/update', { taskId: task.taskId, inputResponses: { other: { action: 'accept' } } });
    expect(await settle(task.taskId, 'input_required')).toMatchObject({ inputRequests });
    const inputResponses = { [key]: { action: 'accept', content: { confirm: true } } };
    expect((await send('tasks/update', { taskId: task.taskId, inputResponses })).result).toBeDefined();
    const { result, inputRequests: open } = await settle(task.taskId, 'completed');
    expect(result.structuredContent).toMatchObject({ counts: { done: 25 } });
    expect(open).toBeUndefined();
  });

  it('cancels a task, which then changes nothing', async () => {
    const { send, call, settle } = await connectRaw(await importNumberedQueue(25), asking);
    const { result: task } = await call('update_queue_items', skipAll);
    const { inputRequests } = await settle(task.taskId, 'input_required');
    expect((await send('tasks/cancel', { taskId: task.taskId })).result).toMatchObject({ resultType: 'complete' });
    const [key] = Object.keys(inputRequests);
    const inputResponses = { [key!]: { action: 'accept', content: { confirm: true } } };
    await send('tasks/update', { taskId: task.taskId, inputResponses });
    expect(await settle(task.taskId, 'cancelled')).not.toHaveProperty('result');
    const { result } = await call('summarize_queue', { queue_id: 'q' });
    expect(result.structuredContent.tables[0].rows).toEqual([['unstarted', 25]]);
  });

  it('gets the error of a tool as a completed result, and of a short call at once', async () => {
    const { call, settle } = await connectRaw(emptyHome(temporaryFolder()), withTasks);
    const { result: task } = await call('run_evaluation', { evaluation: 'None', model: 'heddle/echo', prompt: 'Hi' });
    expect((await settle(task.taskId, 'completed')).result).toMatchObject({ isError: true });
    const dry = { queue_id: 'support-triage', filter: {}, change: { annotation_state: 'skipped' }, dry_run: true };
    expect((await call('update_queue_items', dry)).result).toMatchObject({ resultType: 'complete' });
  });

  it('is told that a task is unknown', async () => {
    const { send } = await connectRaw(emptyHome(temporaryFolder()), withTasks);
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { error } = await send(method, { taskId: 'nothing', inputResponses: {} });
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('run_evaluation with its run_id') });
    }
  });
});

describe('a client without tasks', () => {
  it('gets results, and an error for requests about tasks', async () => {
    const { call, send } = await connectRaw(await importNumberedQueue(3), {});
    expect((await call('update_queue_items', skipAll)).result).toMatchObject({
      resultType: 'complete',
      structuredContent: { counts: { done: 3 } },
    });
    expect((await send('tasks/get', { taskId: 'nothing' })).error).toMatchObject({ code: -32021 });
  });

  it.each([{ mode: 'legacy' as const }, { mode }])('sees nothing of them: %j', async (options) => {
    const { call } = await connectClient(await importNumberedQueue(3), options);
    expect(await call('update_queue_items', skipAll)).toMatchObject({ counts: { done: 3 } });
  });
});
