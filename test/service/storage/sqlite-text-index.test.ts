import { expect, it, vi } from 'vitest';
import { backUpData } from '../../../src/service/storage/sqlite/backup.ts';
import { basic, execute, startTestService, type TestService, temporaryFile } from '../../support/embedded-service.ts';

const project_id = 'p/backup';

async function idsWith(service: TestService, text: string): Promise<string[]> {
  const query = { $expr: { $contains: { input: { $getField: 'inputs.text' }, substr: { $literal: text } } } };
  const { body } = await service.send('POST', '/calls/stream_query', basic, { project_id, columns: ['id'], query });
  return (body as string)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).id);
}

it('builds the index of texts that the setting asks for, leaves it out of a backup, and removes it', async () => {
  const log = vi.fn();
  const service = await startTestService({ textIndex: 'on', log });
  const batch = Array.from({ length: 30 }, (_, n) => ({
    mode: 'start',
    req: {
      start: {
        ...{
          project_id,
          id: `id-${n}`,
          trace_id: 't',
          op_name: 'op',
          started_at: '2026-01-01T00:00:00Z',
          attributes: {},
        },
        inputs: { text: `call number ${n}.` },
      },
    },
  }));
  await service.send('POST', '/call/upsert_batch', basic, { batch });
  await expect.poll(() => log.mock.calls).toContainEqual(['info', 'the index of texts is complete', {}]);
  const call_ids = Array.from({ length: 20 }, (_, n) => `id-${n}`);
  await service.send('POST', '/calls/delete', basic, { project_id, call_ids });
  const backup = temporaryFile('backup.db');
  await backUpData(service.data, backup);
  const left = "select name from sqlite_schema where name like 'calls_text%'";
  expect(await execute(backup, left)).toEqual([]);
  expect((await execute(service.data, left)).map(({ name }) => name)).toContain('calls_text');
  const restored = await startTestService({ data: backup, textIndex: 'on' });
  expect(await idsWith(restored, 'number 27.')).toEqual(['id-27']);
  expect(await idsWith(restored, 'number 7.')).toEqual([]);
  await restored.running.close();
  await service.running.close();
  const without = await startTestService({ data: service.data, textIndex: 'off' });
  expect(await idsWith(without, 'number 27.')).toEqual(['id-27']);
  await without.running.close();
  expect(await execute(service.data, left)).toEqual([]);
});
