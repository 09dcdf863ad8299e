import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { connectClient } from '../support/client.ts';
import { startFakeService } from '../support/fake-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

async function textOf(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

const right = { username: 'mia', password: 'correct-horse', token: 'tok-11112222' };

describe('stored credentials', () => {
  it('make every tool fail with credentials_missing while there are none for the base URL', async () => {
    const service = await startFakeService({ credentials: right });
    const { client } = await connectClient(
      emptyHome(temporaryFolder(), { HEDDLE_BASE_URL: service.url, HEDDLE_PROJECT: 'a/b' }),
    );
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThanOrEqual(3);
    for (const { name, description } of tools) {
      const example = /Example: (\{.*\})/.exec(description ?? '')?.[1];
      const text = await textOf(client, name, JSON.parse(example ?? 'null'));
      expect(`${name}: ${text}`).toContain('"code":"credentials_missing"');
      expect(`${name}: ${text}`).toContain('`heddle login`');
    }
    expect(service.requestLines()).toEqual([]);
  });

  it('are read again after a login and a logout, without a restart', async () => {
    const service = await startFakeService({ credentials: right });
    const environment = emptyHome(temporaryFolder());
    const { client } = await connectClient({ ...environment, HEDDLE_BASE_URL: service.url, HEDDLE_PROJECT: 'a/b' });
    const query = (): Promise<string> => textOf(client, 'query_queue_items', { queue_id: 'q', fields: ['*'] });
    const login = (username: string, password: string): Promise<unknown> =>
      run(
        ['login', '--store', 'file', '--base-url', service.url, '--username', username, '--password-stdin'],
        environment,
        `${password}\n`,
      );
    expect(await query()).toContain('"code":"credentials_missing"');

    await login('mia', 'correct-horse');
    await expect.poll(query).toContain('inputs.question');

    service.credentials = { ...right, username: 'zoe', password: 'second-horse' };
    expect(await query()).toContain('"code":"unauthorized"');
    await login('zoe', 'second-horse');
    await expect.poll(query).toContain('inputs.question');

    await run(['logout'], environment);
    await expect.poll(query).toContain('"code":"credentials_missing"');
  });
});
