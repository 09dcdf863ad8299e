import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { importNumberedQueue } from '../../support/numbered-queue.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { connectRaw, type Json } from '../../support/raw-client.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

const client = installedPath('mcp', '@modelcontextprotocol/ext-tasks/dist/client/index.js');
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: { form: {} } };

describe.skipIf(!client)('@modelcontextprotocol/ext-tasks', () => {
  it('answers the question of a change of many items, and gets its result', async () => {
    const { resultFromTaskOutcome, withTasks } = await import(pathToFileURL(client!).href);
    const { send } = await connectRaw(await importNumberedQueue(25), capabilities);
    const questions: string[] = [];
    const { port, methods } = portTo(send);
    const session = withTasks(port, {
      onInputRequest: async ({ params }: Json) => {
        questions.push(params.message);
        return { action: 'accept', content: { confirm: true } };
      },
    });
    const change = { queue_id: 'q', filter: {}, change: { annotation_state: 'skipped' } };
    const execution = await session.callTool('update_queue_items', change);
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome).structuredContent).toMatchObject({ counts: { done: 25 } });
    expect(questions).toEqual([
      'Change 25 items of queue "q": set to skipped? Skipped items stay skipped, completed ones until their judgements are taken back.',
    ]);
    expect(methods).toEqual(expect.arrayContaining(['tools/call', 'tasks/get', 'tasks/update']));
    await session.close();
  });

  it('cancels a run of an evaluation', async () => {
    const { withTasks } = await import(pathToFileURL(client!).href);
    const model = await startScriptedModel(() => new Promise<undefined>(() => {}));
    const home = emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: model.url });
    const { send, call, settle } = await connectRaw(home, capabilities);
    await call('create_evaluation', { name: 'Echo', dataset: 'tickets' });
    const session = withTasks(portTo(send).port, {});
    const run = { evaluation: 'Echo', model: 'small', prompt: '{question}' };
    const execution = await session.callTool('run_evaluation', run);
    const { taskId } = execution.handle;
    const status = async () => (await send('tasks/get', { taskId })).result.statusMessage;
    await expect.poll(status).toMatch(/^run_id \S+: 0 of /);
    const [, runId] = /^run_id (\S+):/.exec(await status())!;
    await execution.cancel();
    await settle(taskId, 'cancelled');
    const evaluation = async () => (await call('read_evaluation', { run_ids: [runId] })).result.content[0].text;
    await expect.poll(evaluation).toContain('failed: Cancelled by');
    await session.close();
  });
});

/** Returns what the library sends requests with, and the methods of those so far. */
function portTo(send: (method: string, params: object) => Promise<Json>) {
  const methods: string[] = [];
  const port = {
    endpointId: 'heddle',
    taskCapabilities: { generation: 'v2', capabilities: {} },
    invalidated: false,
    dispatch: async ({ method, params }: { method: string; params: object }) => {
      methods.push(method);
      const { result, error } = await send(method, params);
      return error ? { kind: 'error', error } : { kind: 'result', result };
    },
    onServerRequest: () => () => {},
    onNotification: () => () => {},
    onInvalidated: () => () => {},
  };
  return { port, methods };
}
