import { expect, test } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

test('the tools are what clients were promised', async () => {
  const { stdout } = await run(['tools', '--json'], emptyHome(temporaryFolder()));
  const tools: { name: string }[] = JSON.parse(stdout);
  expect(tools.map(({ name }) => name)).toEqual([
    'list_queues',
    'query_queue_items',
    'read_call',
    'update_queue_items',
    'list_objects',
    'run_inference',
    'create_evaluation',
  ]);
  for (const tool of tools) {
    await expect(`${JSON.stringify(tool, null, 2)}\n`).toMatchFileSnapshot(`${tool.name}.json`);
  }
});

test('no advertised input has a union with null', async () => {
  const { stdout } = await run(['tools', '--json'], emptyHome(temporaryFolder()));
  const inputs = (JSON.parse(stdout) as { inputSchema: unknown }[]).map(({ inputSchema }) => inputSchema);
  expect(JSON.stringify(inputs)).not.toContain('"null"');
});
