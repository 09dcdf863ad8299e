import { describe, expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { toolNames } from './tools.ts';

describe('the list of tools', () => {
  it('matches the pinned definitions, in the pinned order', async () => {
    const { stdout } = await run(['tools', '--json'], emptyHome(temporaryFolder()));
    const tools: { name: string }[] = JSON.parse(stdout);
    expect(tools.map(({ name }) => name)).toEqual(toolNames);
    for (const tool of tools) {
      await expect(`${JSON.stringify(tool, null, 2)}\n`).toMatchFileSnapshot(`${tool.name}.json`);
    }
  });

  it('has no union with null in its input schemas', async () => {
    const { stdout } = await run(['tools', '--json'], emptyHome(temporaryFolder()));
    const inputs = (JSON.parse(stdout) as { inputSchema: unknown }[]).map(({ inputSchema }) => inputSchema);
    expect(JSON.stringify(inputs)).not.toContain('"null"');
  });
});
