import { describe, expect, it } from 'vitest';
import { toolNames } from '../pins/tools.ts';
import { exampleFor } from '../support/call-every-tool.ts';
import { connectToProcess } from '../support/client.ts';
import { emptyHome, temporaryFolder } from '../support/heddle.ts';

describe('heddle serve over stdio', async () => {
  const { client } = await connectToProcess(emptyHome(temporaryFolder()));
  const { tools } = await client.listTools();
  // The examples of run_evaluation and read_evaluation name its evaluation.
  await client.callTool({ name: 'create_evaluation', arguments: exampleFor('create_evaluation') });

  it('lists every tool', () => {
    expect(tools.map(({ name }) => name)).toEqual(toolNames);
  });

  it.each(toolNames)('returns a result of %s as text and as structured content', async (name) => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: exampleFor(name) });
    expect(isError ?? false, JSON.stringify(content)).toBe(false);
    const [text, ...links] = content as { type: string }[];
    expect(text).toMatchObject({ type: 'text', text: expect.stringMatching(/./) });
    expect(links.map(({ type }) => type)).toEqual(name === 'summarize_queue' ? ['resource_link'] : []);
    const { required = [] } = tools.find((tool) => tool.name === name)!.outputSchema as { required?: string[] };
    expect(Object.keys(structuredContent as object)).toEqual(expect.arrayContaining(required));
  });
});
