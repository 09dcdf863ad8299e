import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { sendResponse, startFakeService } from '../support/fake-service.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';

describe('prompts', () => {
  it('mention only tools that are on offer', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder()));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['triage_queue', 'calibrate_judge', 'set_up_evaluation']);
    const given = {
      queue_id: 'support-triage',
      field: 'helpful',
      rubric: 'Is it kind?',
      goal: 'Which answers help?',
      model: 'heddle/echo',
    };
    for (const { name } of prompts) {
      const { messages } = await client.getPrompt({ name, arguments: given });
      const text = messages.map(({ content }) => (content.type === 'text' ? content.text : '')).join('\n');
      const mentioned = [...text.matchAll(/\b(?:query|read|run|update|list|create|summarize)_(?!me\b)[a-z_]+\b/g)].map(
        ([word]) => word,
      );
      expect(mentioned.length).toBeGreaterThan(2);
      for (const word of mentioned) expect(names).toContain(word);
    }
  });

  it('judge 20 items for a calibration unless another number is asked for', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder()));
    const textOf = async (given: Record<string, string>): Promise<string> =>
      JSON.stringify((await client.getPrompt({ name: 'calibrate_judge', arguments: given })).messages);
    const queue = { queue_id: 'q', field: 'f' };
    expect(await textOf(queue)).toContain(String.raw`limit \"20\" as a number`);
    expect(await textOf({ ...queue, count: '5' })).toContain(String.raw`limit \"5\" as a number`);
  });

  it('complete their arguments from the service', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder()));
    const completed = async (prompt: string, name: string, value: string) =>
      (await client.complete({ ref: { type: 'ref/prompt', name: prompt }, argument: { name, value } })).completion
        .values;
    expect(await completed('triage_queue', 'queue_id', 'sup')).toEqual(['support-triage']);
    expect(await completed('triage_queue', 'queue_id', 'SUP')).toEqual(['support-triage']);
    expect(await completed('triage_queue', 'state', 'un')).toEqual(['unstarted']);
    expect(await completed('triage_queue', 'model', '')).toEqual(['heddle/echo']);
    expect(await completed('triage_queue', 'project_id', 'd')).toEqual(['demo/support']);
    expect(await completed('set_up_evaluation', 'dataset', 'tick')).toEqual([
      'weave:///demo/support/object/tickets:latest',
    ]);
  });

  it('complete values regardless of case, and name the given project', async () => {
    const service = await startFakeService();
    service.respond = (request) => sendResponse(request, 200, { data: [{ id: 'Big-Model' }, { id: 'other' }] });
    const { client } = await connectClient(emptyHome(temporaryFolder(), service.environment));
    const ref = { type: 'ref/prompt', name: 'triage_queue' } as const;
    expect((await client.complete({ ref, argument: { name: 'model', value: 'big' } })).completion.values).toEqual([
      'Big-Model',
    ]);
    const textOf = async (project: object): Promise<string> => {
      const given = { name: 'triage_queue', arguments: { queue_id: 'q', ...project } };
      return JSON.stringify((await client.getPrompt(given)).messages);
    };
    expect(await textOf({ project_id: 'a/b' })).toContain('pass it as project_id in every call');
    expect(await textOf({})).not.toContain('project_id');
  });

  it('are refused without a required argument', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder()));
    await expect(client.getPrompt({ name: 'triage_queue', arguments: {} })).rejects.toThrow('needs queue_id');
  });
});
