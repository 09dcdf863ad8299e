import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { atOnce, create } from '../../support/concurrent-requests.ts';
import { execute, storedIn, temporaryData, temporaryFile, withStore } from '../../support/embedded-service.ts';
import { emptyHome, runProcess, temporaryFolder } from '../../support/heddle.ts';
import { startServiceProcess } from '../../support/service-process.ts';

const processes = [0, 1, 2, 3];

/** Runs a command on a storage as a process. */
function runOn(data: string, ...args: string[]) {
  return runProcess(args, emptyHome(temporaryFolder(), storedIn(data)));
}

describe('an empty database that several processes open at once', () => {
  it.each([1, 2, 3])('gets its tables, and in a data file the sample project, once (round %i)', async () => {
    const data = await temporaryData();
    const hasSample = !data.startsWith('postgres');
    const outcomes = await Promise.all(processes.map(() => runOn(data, 'call', '--json', 'list_queues', '{}')));
    for (const { code, stdout, stderr } of outcomes) {
      expect(code, stderr).toBe(hasSample ? 0 : 1);
      expect(hasSample ? JSON.parse(stdout).queues[0].id : JSON.parse(stderr).message).toBe(
        hasSample ? 'support-triage' : 'No project: the call has no project_id, and no project is configured.',
      );
    }
    await withStore(data, async (store) => {
      expect(await store.integrityCheck()).toEqual([]);
      expect((await store.list()).map(({ project_id, queues }) => [project_id, queues[0]?.items])).toEqual(
        hasSample ? [['demo/support', 12]] : [],
      );
    });
  });
});

describe('four services on one database', async () => {
  const data = await temporaryData();
  const { password } = await withStore(data, (store) => store.addUser('ada', 'all'));
  const authorization = `Basic ${btoa(`ada:${password}`)}`;
  const services = await Promise.all(processes.map(() => startServiceProcess(storedIn(data))));

  it('number the 400 versions that they create of one object from 0 to 399', async () => {
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    const answers = await Promise.all(
      services.map(({ url }, index) => atOnce(1, numbers, (n) => create(url, authorization, `${index}-${n}`))),
    );
    const indices = answers.flat().map(({ body }) => body.version_index);
    expect(indices.sort((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, index) => index));
  });

  it('store the same 50 feedbacks once, and give the same answers', async () => {
    const answersOf = async (url: string) => {
      const answers: unknown[] = [];
      for (let index = 0; index < 50; index += 1) {
        const feedback = { project_id: 'p/q', weave_ref: 'weave:///p/q/call/c1', feedback_type: 'mood' };
        const response = await fetch(`${url}/feedback/create`, {
          method: 'POST',
          headers: { authorization },
          body: JSON.stringify({ ...feedback, payload: { index }, id: `shared-${index}` }),
        });
        answers.push([response.status, await response.json()]);
      }
      return answers;
    };
    const [first, ...others] = await Promise.all(services.map(({ url }) => answersOf(url)));
    expect(first).toEqual(
      Array.from({ length: 50 }, (_, index) => [200, expect.objectContaining({ id: `shared-${index}` })]),
    );
    for (const answers of others) expect(answers).toEqual(first);
    expect(await execute(data, 'select id from feedback')).toHaveLength(50);
  });
});

describe('four imports into one queue at once', () => {
  it('add each item once', async () => {
    const data = await temporaryData();
    const imports = processes.map((number) => {
      const file = temporaryFile('items.jsonl');
      const lines = Array.from({ length: 3000 }, (_, index) =>
        JSON.stringify({
          call_id: `${number % 2}-${index}`,
          call_op_name: 'op',
          call_trace_id: 't',
          call_started_at: '2026-01-01T00:00:00Z',
        }),
      );
      writeFileSync(file, lines.join('\n'));
      return runOn(data, 'service', 'import', file, '--project', 'p/q', '--queue', 'shared');
    });
    const outcomes = await Promise.all(imports);
    expect(outcomes.map(({ code, stdout }) => [code, stdout]).sort()).toEqual([
      [0, '0 added, 3000 duplicates\n'],
      [0, '0 added, 3000 duplicates\n'],
      [0, '3000 added, 0 duplicates\n'],
      [0, '3000 added, 0 duplicates\n'],
    ]);
    const [listing] = await withStore(data, (store) => store.list());
    expect(listing?.queues[0]?.items).toBe(6000);
  });
});
