import type { ToolAnnotations } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { pinnedTools, readOnlyTools, toolNames } from '../../pins/tools.ts';
import { exampleFor } from '../../support/call-every-tool.ts';
import { connectClient } from '../../support/client.ts';
import { startFakeService } from '../../support/fake-service.ts';
import { routeOf } from '../../support/good-responses.ts';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { startToolServer } from '../../support/tool-server.ts';

describe('the tools on offer', () => {
  const ofEvaluation = pinnedTools.filter(({ groups }) => groups.includes('evaluation')).map(({ name }) => name);

  it.each([
    ['HEDDLE_READ_ONLY keeps the tools that change nothing', { HEDDLE_READ_ONLY: 'true' }, readOnlyTools, []],
    [
      'HEDDLE_TOOLS selects tools by name and by group',
      { HEDDLE_TOOLS: 'evaluation,list_queues' },
      ['list_queues', ...ofEvaluation],
      ['set_up_evaluation'],
    ],
  ])('%s, and prompts that use only those', async (_, selection, offeredTools, offeredPrompts) => {
    const { client } = await connectClient(emptyHome(temporaryFolder(), selection));
    const { prompts } = await client.listPrompts();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(offeredTools);
    expect(prompts.map(({ name }) => name)).toEqual(offeredPrompts);
    const mentioned = toolNames.filter((name) => JSON.stringify(tools).includes(name));
    expect(mentioned.filter((name) => !offeredTools.includes(name))).toEqual([]);
  });

  it.each(['queue', 'inference', 'evaluation'])(
    'are those of the group %s when HEDDLE_TOOLS names it',
    async (group) => {
      const { client } = await connectClient(emptyHome(temporaryFolder(), { HEDDLE_TOOLS: group }));
      const { tools } = await client.listTools();
      const ofGroup = pinnedTools.filter(({ groups }) => groups.includes(group)).map(({ name }) => name);
      expect(tools.map(({ name }) => name)).toEqual(ofGroup);
    },
  );

  it('cannot be selected by a name that is neither a tool nor a group', async () => {
    const { code, stderr } = await run(['serve', '--tools', 'queues'], emptyHome(temporaryFolder()));
    expect(code).toBe(2);
    expect(stderr).toContain('HEDDLE_TOOLS or --tools names "queues", which is neither a tool nor a group.');
    expect(stderr).toContain('Valid names are queue, inference, evaluation, list_queues');
  });

  it.each(readOnlyTools)('include %s, which only reads and calls no operation that writes', async (name) => {
    const service = await startFakeService();
    const { call } = await startToolServer(service.url);
    await call(name, exampleFor(name));
    const called = service.requests.map((request) => routeOf(request)!.name);
    expect(called).not.toEqual([]);
    expect(called.filter((operation) => endpoints[operation].writes)).toEqual([]);
  });

  it('have hints that say which only read, which overwrite data, which can be repeated and which reach other systems', async () => {
    const { client } = await connectClient(emptyHome(temporaryFolder()));
    const { tools } = await client.listTools();
    const hinted = (hint: keyof ToolAnnotations, value: boolean): string[] =>
      tools.filter(({ annotations }) => annotations?.[hint] === value).map(({ name }) => name);
    expect(hinted('readOnlyHint', true)).toEqual(readOnlyTools);
    expect(hinted('readOnlyHint', false)).toHaveLength(toolNames.length - readOnlyTools.length);
    // These must never lose their hints. What a new tool says of itself is reviewed in the pin.
    expect(hinted('destructiveHint', true)).toEqual(expect.arrayContaining(['update_queue_items']));
    expect(hinted('idempotentHint', false)).toEqual(expect.arrayContaining(['run_inference', 'run_evaluation']));
    expect(hinted('openWorldHint', true)).toEqual(expect.arrayContaining(['run_inference', 'run_evaluation']));
    for (const { name, annotations } of tools) {
      expect([name, Object.keys(annotations!).sort()]).toEqual([
        name,
        ['destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint', 'title'],
      ]);
    }
  });
});
