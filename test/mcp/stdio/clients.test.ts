import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toolNames } from '../../pins/tools.ts';
import { connectClient, connectToProcess } from '../../support/client.ts';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';

/** The part of a client of either generation that the tests use. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

async function newer(mode: 'legacy' | 'auto' | { pin: string }): Promise<AnyClient> {
  const { client } = await connectClient(emptyHome(temporaryFolder()), { mode });
  expect(client.getProtocolEra()).toBe(mode === 'legacy' ? 'legacy' : 'modern');
  return client as AnyClient;
}

async function newerOfProcess(): Promise<AnyClient> {
  const { client } = await connectToProcess(emptyHome(temporaryFolder()), { mode: 'auto' });
  expect(client.getProtocolEra()).toBe('modern');
  return client as AnyClient;
}

async function olderOfProcess(): Promise<AnyClient> {
  const client = new OlderClient({ name: 'test', version: '1.0.0' });
  onTestFinished(() => client.close());
  const env = emptyHome(temporaryFolder());
  await client.connect(new OlderTransport({ command: process.execPath, args: [command, 'serve'], env }));
  return client as unknown as AnyClient;
}

describe('MCP clients over stdio', () => {
  it.each([
    ['SDK v2, older era', () => newer('legacy')],
    ['SDK v2, pinned to 2026-07-28', () => newer({ pin: '2026-07-28' })],
    ['SDK v2, negotiated with a process', newerOfProcess],
    ['SDK v1, with a process', olderOfProcess],
  ])('review items, run inference and create evaluations: %s', async (_, connect) => {
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(toolNames);
    expect(client.getInstructions()).toContain('the embedded service on this machine (demo/support has sample data)');

    const page = await client.callTool({
      name: 'query_queue_items',
      arguments: { queue_id: 'support-triage', limit: 2, include_position: true },
    });
    expect(page).toMatchObject({
      structuredContent: { offset: 0, next_offset: 2, items: [{ position_in_queue: 1 }, { position_in_queue: 2 }] },
      content: [{ type: 'text', text: expect.stringContaining('More follow: next_offset 2.') }],
    });

    const reply = await client.callTool({
      name: 'run_inference',
      arguments: {
        model: 'heddle/echo',
        messages: [{ role: 'user', content: 'Is {thing} {{literal}}?' }],
        template_vars: { thing: 'this' },
      },
    });
    expect(reply).toMatchObject({
      structuredContent: {
        response: {
          choices: [{ message: { content: expect.stringContaining('Is this {literal}?') }, finish_reason: 'stop' }],
        },
      },
    });

    const evaluation = { name: 'Answers', dataset: 'weave:///demo/support/object/tickets:latest' };
    const created = await client.callTool({ name: 'create_evaluation', arguments: evaluation });
    expect(created).toMatchObject({ structuredContent: { object_id: 'answers', version_index: 0 } });

    const wrong = await client.callTool({ name: 'create_evaluation', arguments: { nme: 'x' } });
    expect(wrong).toMatchObject({ isError: true });
  });

  it('get a protocol error that names the known tools for an unknown one', async () => {
    const client = await newer('legacy');
    await expect(client.callTool({ name: 'query_queue', arguments: {} })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('known names: list_queues, query_queue_items,'),
    });
  });

  it('get an error that says that a setting of the user has switched a tool off', async () => {
    const { client } = await connectClient(
      emptyHome(temporaryFolder(), { HEDDLE_READ_ONLY: 'true', HEDDLE_TOOLS: 'queue' }),
    );
    expect(client.getInstructions()).toContain(
      'Not possible here: any change (HEDDLE_READ_ONLY is set). HEDDLE_TOOLS hides other tools. In a terminal',
    );
    await expect(client.callTool({ name: 'create_queue', arguments: {} })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(
        'The user has switched the tool create_queue off with HEDDLE_READ_ONLY or HEDDLE_TOOLS; offered tools: list_queues, query_queue_items, summarize_queue, read_call, query_calls',
      ),
    });
  });
});
