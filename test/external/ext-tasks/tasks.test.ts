import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { importNumberedQueue } from '../../support/numbered-queue.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { connectRaw, type Json } from '../../support/raw-client.ts';

const client = installedPath('mcp', '@modelcontextprotocol/ext-tasks/dist/client/index.js');
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: { form: {} } };

describe.skipIf(!client)('@modelcontextprotocol/ext-tasks', () => {
  it('answers the question of a change of many items, and gets its result', async () => {
    const { resultFromTaskOutcome, withTasks } = await import(pathToFileURL(client!).href);
    const { send } = await connectRaw(await importNumberedQueue(25), capabilities);
    const methods: string[] = [];
    const questions: string[] = [];
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
    expect(questions).toEqual(['Change 25 items of queue q: set to skipped? A finished state is final.']);
    expect(methods).toEqual(expect.arrayContaining(['tools/call', 'tasks/get', 'tasks/update']));
    await session.close();
  });
});
