import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { call, emptyHome, temporaryFolder } from '../support/heddle.ts';
import { connectStdioClient } from '../support/stdio-client.ts';

const evaluation = { name: 'Weekly check', dataset: 'weave:///demo/support/object/tickets:latest' };

describe('create_evaluation', () => {
  it('returns the same version for the same content and the next version for different content', async () => {
    const environment = emptyHome(temporaryFolder());
    const first = await call('create_evaluation', evaluation, environment);
    const again = await call('create_evaluation', evaluation, environment);
    const other = await call('create_evaluation', { ...evaluation, description: 'with a description' }, environment);
    expect(first.result).toMatchObject({ object_id: 'weekly_check', version_index: 0 });
    expect(first.result.digest).toMatch(/^[A-Za-z0-9]{43}$/);
    expect(first.result.evaluation_ref).toBe(`weave:///demo/support/object/weekly_check:${first.result.digest}`);
    expect(first.result).toMatchObject({ existed: false, newest_version: 0 });
    expect(again.result).toEqual({ ...first.result, existed: true });
    expect(other.result.version_index).toBe(1);
    expect(other.result.digest).not.toBe(first.result.digest);
  });

  it('creates 1000 versions from four servers on one data folder, and a killed server loses none that it has reported', async () => {
    const environment = emptyHome(temporaryFolder());
    const create = async (client: Client, description: string): Promise<number> => {
      const { structuredContent } = await client.callTool({
        name: 'create_evaluation',
        arguments: { ...evaluation, description },
      });
      return (structuredContent as { version_index: number }).version_index;
    };

    const servers = await Promise.all([1, 2, 3, 4].map(() => connectStdioClient(environment)));
    const indices = await Promise.all(
      servers.flatMap(({ client }, server) =>
        Array.from({ length: 250 }, (_, number) => create(client, `${server}/${number}`)),
      ),
    );
    expect(indices.sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, index) => index));

    const reported = new Map<string, number>();
    const { client, pid } = servers[0]!;
    await Promise.allSettled(
      Array.from({ length: 100 }, async (_, number) => {
        const description = `killed/${number}`;
        reported.set(description, await create(client, description));
        if (reported.size === 20) process.kill(pid, 'SIGKILL');
      }),
    );
    expect(reported.size).toBeGreaterThanOrEqual(20);
    expect(reported.size).toBeLessThan(100);
    for (const [description, index] of reported) expect(await create(servers[1]!.client, description)).toBe(index);
  }, 60_000);
});
