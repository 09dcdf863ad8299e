import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/core/statistics/seeded-random.ts';
import { connectToProcess } from '../../support/client.ts';
import { run } from '../../support/heddle.ts';
import { importNumberedQueue } from '../../support/numbered-queue.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { tally } from '../../support/tally.ts';

const itemCount = 200;
const itemsPerCall = 20;
const callsPerProcess = 6;
const processes = 5;

describe('two annotators who judge the same items while their processes are killed', () => {
  it("reads back each annotator's last acknowledged judgement", async () => {
    const environment = await importNumberedQueue(itemCount);
    const accounts = await Promise.all(
      ['ada', 'bob'].map(async (name) => {
        const { stdout } = await run(['service', 'add-user', name, '--all-projects'], environment);
        return { name, password: /^password: *(\S+)$/m.exec(stdout)![1]! };
      }),
    );
    const { url } = await startServiceProcess(environment);
    const open = ({ name, password }: (typeof accounts)[number]) =>
      connectToProcess({
        ...environment,
        HEDDLE_BASE_URL: url,
        HEDDLE_PROJECT: 'demo/support',
        HEDDLE_USERNAME: name,
        HEDDLE_PASSWORD: password,
        HEDDLE_MAX_RESULT_CHARS: '1000000',
      });
    const reader = await open(accounts[0]!);
    const { items } = await reader.call('query_queue_items', { queue_id: 'q', limit: itemCount });
    const ids: string[] = items.map(({ id }: { id: string }) => id);

    const judge = async (account: (typeof accounts)[number], seed: number) => {
      const random = seededRandom(seed);
      const acknowledged = new Map<string, boolean>();
      /** Values that were sent and not acknowledged since the last acknowledgement. */
      const uncertain = new Map<string, Set<boolean>>();
      for (let round = 0; round < processes; round += 1) {
        const { call, pid } = await open(account);
        const killAt = Math.floor(random() * callsPerProcess);
        for (let number = 0; number < callsPerProcess; number += 1) {
          const first = Math.floor(random() * (itemCount - itemsPerCall));
          const value = random() < 0.5;
          const chosen = ids.slice(first, first + itemsPerCall);
          const changes = chosen.map((item_id) => ({ item_id, judgements: { helpful: value } }));
          for (const id of chosen) uncertain.set(id, (uncertain.get(id) ?? new Set()).add(value));
          const sent = call('update_queue_items', { queue_id: 'q', items: changes });
          if (number === killAt && round < processes - 1) {
            await Promise.all([sent.catch(() => {}), Promise.resolve().then(() => process.kill(pid, 'SIGKILL'))]);
            break;
          }
          const { counts, error } = await sent;
          expect(error).toBeUndefined();
          expect(counts.refused).toBeUndefined();
          for (const id of chosen) {
            acknowledged.set(id, value);
            uncertain.delete(id);
          }
        }
      }
      return { acknowledged, uncertain };
    };

    const outcomes = await Promise.all(accounts.map((account, index) => judge(account, index + 1)));
    const { items: read } = await reader.call('query_queue_items', {
      queue_id: 'q',
      limit: itemCount,
      include_judgements: true,
    });
    let compared = 0;
    for (const [index, { acknowledged, uncertain }] of outcomes.entries()) {
      const annotator = `${accounts[index]!.name} (test via heddle)`;
      for (const { id, judgements = {} } of read) {
        const shown = judgements[annotator]?.helpful;
        const possible = new Set([...(uncertain.get(id) ?? []), acknowledged.get(id)]);
        expect(possible, `${annotator} on ${id}`).toContain(shown);
        if (!uncertain.has(id) && acknowledged.has(id)) {
          expect(shown).toBe(acknowledged.get(id));
          compared += 1;
        }
      }
    }
    tally('kill rounds', accounts.length * (processes - 1));
    expect(compared).toBeGreaterThan(itemCount);
  });
});
