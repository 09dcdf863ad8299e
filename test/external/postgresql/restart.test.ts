import { afterAll, describe, expect, it } from 'vitest';
import { type Created, create } from '../../support/concurrent-requests.ts';
import { withStore } from '../../support/embedded-service.ts';
import { Cluster } from '../../support/postgres-cluster.ts';
import { startServiceProcess } from '../../support/service-process.ts';

const cluster = await Cluster.make();
afterAll(() => cluster.remove());
const ada = await withStore(cluster.url, (store) => store.addUser('ada', 'all'));
const basic = `Basic ${btoa(`ada:${ada.password}`)}`;

describe('a restart of PostgreSQL', () => {
  it('causes 503 responses until it is over, and loses no acknowledged write', async () => {
    const { url, child, stderr: serviceStderr } = await startServiceProcess({ HEDDLE_DATABASE_URL: cluster.url });
    const answers: Created[] = [];
    let running = true;
    const clients = [0, 1, 2, 3].map(async (client) => {
      for (let index = 0; running; index += 1) {
        answers.push(await create(url, basic, `${client}-${index}`));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    const until = async (happened: () => boolean) => {
      while (!happened()) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    for (let round = 0; round < 2; round += 1) {
      const before = answers.length;
      await until(() => answers.slice(before).filter(({ status }) => status === 200).length > 40);
      cluster.kill();
      const from = answers.length;
      await until(() => answers.slice(from).filter(({ status }) => status === 503).length > 20);
      const health = await fetch(`${url}/health`);
      expect([health.status, await health.json()]).toEqual([503, expect.objectContaining({ status: 'unavailable' })]);
      cluster.start();
      const back = answers.length;
      await until(() => answers.slice(back).filter(({ status }) => status === 200).length > 40);
    }
    running = false;
    await Promise.all(clients);

    const failed = answers.filter(({ status }) => status !== 200);
    expect(new Set(failed.map(({ status }) => status))).toEqual(new Set([503]));
    for (const { retryAfter, body } of failed) {
      // Only a client whose request had no effect is invited to retry.
      if (retryAfter === null) expect(body.reason).toContain('it may or may not have been saved');
      else
        expect([retryAfter, body]).toEqual(['1', { reason: expect.stringMatching(/^The database cannot be reached/) }]);
    }
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect([child.exitCode, serviceStderr().includes(new URL(cluster.url).password)]).toEqual([null, false]);
    const [listing] = await withStore(cluster.url, (store) => store.list('p/q'));
    const kept = new Map(listing!.objects[0]!.versions.map(({ version_index, digest }) => [digest, version_index]));
    expect([...kept.values()]).toEqual([...kept.values()].map((_, index) => index));
    for (const { body } of answers.filter(({ status }) => status === 200)) {
      expect(kept.get(body.digest)).toBe(body.version_index);
    }
  });
});
