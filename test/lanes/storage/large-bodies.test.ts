import { describe, expect, it } from 'vitest';
import { basic, startTestService } from '../../support/embedded-service.ts';

const service = await startTestService();
const project_id = 'p/large';

describe('POST /call/upsert_batch', () => {
  it('takes a batch of 30,000 small entries', async () => {
    const batch = Array.from({ length: 15_000 }, (_, index) => {
      const call = { project_id, id: `c${index}` };
      const start = { ...call, op_name: 'op', started_at: '2026-01-01T00:00:00Z', attributes: {}, inputs: {} };
      const end = { ...call, ended_at: '2026-01-01T00:00:02Z', output: 1, summary: {} };
      return [
        { mode: 'start', req: { start } },
        { mode: 'end', req: { end } },
      ];
    }).flat();
    const { status, body } = await service.send('POST', '/call/upsert_batch', basic, { batch });
    expect([status, body.res.length]).toEqual([200, 30_000]);
    expect((await service.send('POST', '/calls/query_stats', basic, { project_id })).body).toEqual({ count: 15_000 });
  });
});

describe('POST /file/create', () => {
  it('takes a file of 100 MiB, and refuses one with a byte more', async () => {
    const sizes = [100 * 1024 * 1024, 100 * 1024 * 1024 + 1];
    const [largest, larger] = await Promise.all(
      sizes.map((size) => service.upload(basic, { project_id, file: new Blob([Buffer.alloc(size)]) })),
    );
    expect(largest).toMatchObject({ status: 200 });
    expect(larger).toMatchObject({
      status: 413,
      body: { reason: 'Payload too large: a file may have 104857600 bytes' },
    });
  });
});
