import { describe, expect, it } from 'vitest';
import { tools } from '../../src/tools/definition/registry.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

describe('the list of tools', () => {
  it('is the pinned one, which `npm run generate` writes', async () => {
    const { stdout } = await run(['tools', '--json'], emptyHome(temporaryFolder()));
    const groupsOf = new Map(tools.map(({ name, groups }) => [name, groups]));
    const listed = (JSON.parse(stdout) as { name: string }[]).map((tool) => ({
      ...tool,
      groups: groupsOf.get(tool.name),
    }));
    await expect(`${JSON.stringify(listed, null, 2)}\n`).toMatchFileSnapshot('tools.json');
  });

  it('has no union with null in its input schemas', async () => {
    const { stdout } = await run(['tools', '--json'], emptyHome(temporaryFolder()));
    const inputs = (JSON.parse(stdout) as { inputSchema: unknown }[]).map(({ inputSchema }) => inputSchema);
    expect(JSON.stringify(inputs)).not.toContain('"null"');
  });
});
