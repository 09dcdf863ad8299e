import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { call, command, emptyHome, temporaryFolder } from '../support/heddle.ts';

const evaluation = { name: 'Weekly check', dataset: 'weave:///demo/support/object/tickets:latest' };

test('the same content is the same version, other content the next', async () => {
  const environment = emptyHome(temporaryFolder());
  const first = await call('create_evaluation', evaluation, environment);
  const again = await call('create_evaluation', evaluation, environment);
  const other = await call('create_evaluation', { ...evaluation, description: 'with a description' }, environment);
  expect(first.result).toMatchObject({ object_id: 'weekly_check', version_index: 0 });
  expect(first.result.digest).toMatch(/^[A-Za-z0-9]{43}$/);
  expect(first.result.evaluation_ref).toBe(`weave:///demo/support/object/weekly_check:${first.result.digest}`);
  expect(again.result).toEqual(first.result);
  expect(other.result.version_index).toBe(1);
  expect(other.result.digest).not.toBe(first.result.digest);
});

test('four servers on one data folder create 1000 versions, and one that is killed loses none it told of', async () => {
  const env = emptyHome(temporaryFolder());
  const connect = async () => {
    const transport = new StdioClientTransport({ command: process.execPath, args: [command], env });
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport);
    onTestFinished(() => client.close());
    return { client, transport };
  };
  const create = async (client: Client, description: string): Promise<number> => {
    const { structuredContent } = await client.callTool({
      name: 'create_evaluation',
      arguments: { ...evaluation, description },
    });
    return (structuredContent as { version_index: number }).version_index;
  };

  const servers = await Promise.all([connect(), connect(), connect(), connect()]);
  const indices = await Promise.all(
    servers.flatMap(({ client }, server) =>
      Array.from({ length: 250 }, (_, number) => create(client, `${server}/${number}`)),
    ),
  );
  expect(indices.sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, index) => index));

  const told = new Map<string, number>();
  const { client, transport } = servers[0]!;
  await Promise.allSettled(
    Array.from({ length: 100 }, async (_, number) => {
      const description = `killed/${number}`;
      told.set(description, await create(client, description));
      if (told.size === 20) process.kill(transport.pid!, 'SIGKILL');
    }),
  );
  expect(told.size).toBeGreaterThanOrEqual(20);
  expect(told.size).toBeLessThan(100);
  for (const [description, index] of told) expect(await create(servers[1]!.client, description)).toBe(index);
}, 60_000);
