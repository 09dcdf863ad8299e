import { afterAll, describe, expect, it } from 'vitest';
import { atOnce, create } from '../../support/concurrent-requests.ts';
import { withStore } from '../../support/embedded-service.ts';
import { emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { Cluster } from '../../support/postgres-cluster.ts';
import { hasReviewItems, reviewItems } from '../../support/review-items.ts';
import { startServiceProcess } from '../../support/service-process.ts';

const cluster = await Cluster.make();
afterAll(() => cluster.remove());
const environment = { HEDDLE_DATABASE_URL: cluster.url };
const ada = await withStore(cluster.url, (store) => store.addUser('ada', 'all'));
const basic = `Basic ${btoa(`ada:${ada.password}`)}`;
const dense = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('two service processes on one database', () => {
  it('number 1,000 versions of one object from 0 to 999, with up to 100 requests at once', async () => {
    const services = await Promise.all([startServiceProcess(environment), startServiceProcess(environment)]);
    const answers = await Promise.all(
      [0, 1, 2, 3].map((client) =>
        atOnce(25, dense(250), (index) => create(services[client % 2]!.url, basic, `${client}-${index}`)),
      ),
    );
    const all = answers.flat();
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    expect(all.map(({ body }) => body.version_index).sort((a, b) => a - b)).toEqual(dense(1000));
    expect(new Set(all.map(({ body }) => body.digest)).size).toBe(1000);
    const [listing] = await withStore(cluster.url, (store) => store.list('p/q'));
    const kept = listing!.objects[0]!.versions.map(({ version_index, digest }) => [version_index, digest]);
    const answered = all.map(({ body }) => [body.version_index, body.digest]).sort((a, b) => a[0] - b[0]);
    expect(kept).toEqual(answered);
  });

  it('store the same content as one version', async () => {
    const services = await Promise.all([startServiceProcess(environment), startServiceProcess(environment)]);
    const answers = await Promise.all(dense(40).map((index) => create(services[index % 2]!.url, basic, 'the same')));
    for (const { status, body } of answers) expect([status, body]).toEqual([200, answers[0]!.body]);
  });

  it.skipIf(!hasReviewItems)(
    'import real items once when both import them (skipped without ../shared/data)',
    async () => {
      const args = ['service', 'import', reviewItems, '--project', 'demo/review', '--queue', 'commits'];
      const started = performance.now();
      const outcomes = await Promise.all([1, 2].map(() => run(args, emptyHome(temporaryFolder(), environment))));
      expect(performance.now() - started).toBeLessThan(20_000);
      expect(outcomes.map(({ stdout }) => stdout).sort()).toEqual([
        '0 added, 2142 duplicates\n',
        '2142 added, 0 duplicates\n',
      ]);
      const { stdout } = await run(
        ['service', 'list', '--project', 'demo/review'],
        emptyHome(temporaryFolder(), environment),
      );
      expect(stdout).toContain('"items": 2142');
    },
  );

  it('share the sample project with the service that tools start', async () => {
    const at = emptyHome(temporaryFolder(), environment);
    const { stdout, code } = await run(['call', 'list_queues', '{}'], at);
    expect([code, stdout]).toEqual([0, expect.stringContaining('support-triage')]);
    expect((await run(['service', 'list', '--project', 'demo/support'], at)).stdout).toContain('"items": 12');
  });
});
