import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  startTestService,
  type TestService,
  temporaryData,
  withStore,
} from '../../support/embedded-service.ts';
import { outcome, worker } from '../../support/storage-worker-process.ts';

const four = [0, 1, 2, 3];

describe('a database that several processes use', () => {
  it('can be created by all of them at once', async () => {
    for (let round = 0; round < 3; round += 1) {
      const data = await temporaryData();
      const outcomes = await Promise.all(four.map(() => outcome(worker('open', data))));
      for (const { code, stdout, stderr } of outcomes) expect([code, stdout, stderr]).toEqual([0, '', '']);
      await withStore(data, async (store) => {
        expect(await store.integrityCheck()).toEqual([]);
        expect((await store.list()).map(({ project_id, queues }) => [project_id, queues[0]?.items])).toEqual([
          ['demo/support', 12],
        ]);
      });
    }
  }, 60_000);

  it('numbers the 1,000 versions that 4 processes create of one object from 0 to 999', async () => {
    const data = await temporaryData();
    const outcomes = await Promise.all(four.map((number) => outcome(worker('create', data, String(number), '250'))));
    for (const { code, stderr } of outcomes) expect([code, stderr]).toEqual([0, '']);
    const indices = outcomes.flatMap(({ stdout }) =>
      stdout
        .trim()
        .split('\n')
        .map((line) => Number(line.split(' ')[0])),
    );
    expect(indices.sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
  }, 120_000);

  it('runs simultaneous imports one after another', async () => {
    const data = await temporaryData();
    const outcomes = await Promise.all(
      four.map((number) => outcome(worker('import', data, String(number % 2), '3000'))),
    );
    for (const { code, stderr } of outcomes) expect([code, stderr]).toEqual([0, '']);
    const [listing] = await withStore(data, (store) => store.list());
    expect(listing?.queues[0]?.items).toBe(6000);
  }, 60_000);

  it('keeps every acknowledged write after kill -9', async () => {
    const data = await temporaryData();
    for (let round = 0; round < 3; round += 1) {
      const child = worker('create', data, String(round), '100000');
      const acknowledged = await new Promise<string[]>((resolve) => {
        let seen = '';
        child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
          seen += chunk;
          if (seen.split('\n').length > 30 + round * 17) child.kill('SIGKILL');
        });
        child.once('close', () => resolve(seen.split('\n').slice(0, -1)));
      });
      expect(acknowledged.length).toBeGreaterThan(29);
      await withStore(data, async (store) => {
        const [listing] = await store.list();
        const versions = listing!.objects[0]!.versions;
        expect(await store.integrityCheck()).toEqual([]);
        for (const line of acknowledged) {
          const [index, digest] = line.split(' ');
          expect(versions[Number(index)]).toMatchObject({ digest, version_index: Number(index) });
        }
        expect(versions.map(({ version_index }) => version_index)).toEqual(versions.map((_, index) => index));
      });
    }
  }, 60_000);
});

describe('RunningService.close', () => {
  it('lets a running request finish', async () => {
    let finish = () => {};
    const arrived = new Promise<void>((resolve) => {
      const modelProvider = createServer((_, response) => {
        finish = () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"late":true}');
        resolve();
      });
      modelProvider.listen(0, '127.0.0.1', async () => {
        const { port } = modelProvider.address() as AddressInfo;
        service = await startTestService({ modelProvider: { url: `http://127.0.0.1:${port}` } });
        answer = service.infer({ model: 'm' });
      });
      afterAll(() => modelProvider.close());
    });
    let service: TestService | undefined;
    let answer: Promise<Answer> | undefined;
    await arrived;
    const closed = service!.running.close();
    await new Promise((resolve) => setTimeout(resolve, 100));
    finish();
    expect(await answer).toMatchObject({ status: 200, body: { late: true } });
    await closed;
    await expect(fetch(`${service!.running.url}/health`)).rejects.toThrow();
  });
});
