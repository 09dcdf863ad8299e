import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { atOnce, create } from '../../support/concurrent-requests.ts';
import { withStore } from '../../support/embedded-service.ts';
import { emptyHome, run, runProcess, temporaryFolder } from '../../support/heddle.ts';
import { Cluster } from '../../support/postgres-cluster.ts';
import { startServiceProcess } from '../../support/service-process.ts';

const cluster = await Cluster.make();
afterAll(() => cluster.remove());
const environment = { HEDDLE_DATABASE_URL: cluster.url };
const ada = await withStore(cluster.url, (store) => store.addUser('ada', 'all'));
const basic = `Basic ${btoa(`ada:${ada.password}`)}`;
const dense = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('two service processes on one database', () => {
  it('number 200 versions of one object from 0 to 199, with up to 100 requests at once', async () => {
    const services = await Promise.all([startServiceProcess(environment), startServiceProcess(environment)]);
    const answers = await Promise.all(
      [0, 1, 2, 3].map((client) =>
        atOnce(25, dense(50), (index) => create(services[client % 2]!.url, basic, `${client}-${index}`)),
      ),
    );
    const all = answers.flat();
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    expect(all.map(({ body }) => body.version_index).sort((a, b) => a - b)).toEqual(dense(200));
    expect(new Set(all.map(({ body }) => body.digest)).size).toBe(200);
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

  it('import items once when both import them', async () => {
    const file = join(temporaryFolder(), 'items.jsonl');
    const lines = dense(500).map((index) => ({
      call_id: `call-${index}`,
      call_op_name: 'answer',
      call_trace_id: `trace-${index}`,
      call_started_at: '2026-01-01T00:00:00Z',
      call: { inputs: { question: `${index}?` } },
    }));
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
    const args = ['service', 'import', file, '--project', 'demo/review', '--queue', 'answers'];
    const outcomes = await Promise.all([1, 2].map(() => runProcess(args, emptyHome(temporaryFolder(), environment))));
    expect(outcomes.map(({ stdout }) => stdout).sort()).toEqual([
      '0 added, 500 duplicates\n',
      '500 added, 0 duplicates\n',
    ]);
    const { stdout } = await run(
      ['service', 'list', '--project', 'demo/review'],
      emptyHome(temporaryFolder(), environment),
    );
    expect(stdout).toContain('"items": 500');
  });

  it('share their data with the service that tools start, which adds no sample project', async () => {
    const at = emptyHome(temporaryFolder(), environment);
    const { stdout, code } = await run(['call', 'list_queues', '{"project_id":"demo/review"}'], at);
    expect([code, stdout]).toEqual([0, expect.stringContaining('answers')]);
    expect(await run(['call', 'list_queues'], at)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('No project'),
    });
    expect((await run(['service', 'list', '--project', 'demo/support'], at)).stderr).toContain(
      'There is no project demo/support.',
    );
  });
});
