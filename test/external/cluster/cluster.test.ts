import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Done, jobOf } from '../../support/cluster/jobs.ts';
import { type Machines, startMachines } from '../../support/cluster/machines.ts';
import { connect, isRefusal, kinds } from '../../support/cluster/retrying-client.ts';
import { expectAskedOnce, expectStored, itemsOf } from '../../support/cluster/stored-results.ts';
import { hasAuthorizationServer } from '../../support/start-authorization-server.ts';
import { hasNginx } from '../../support/start-nginx.ts';

const calls = 1_200;
/** Clients of each kind and subject. Each makes one call at a time. */
const clientsEach = 2;
/** Number of kills, of servers and services in turn. A killed process is restarted. */
const kills = 4;

describe.skipIf(!hasNginx || !hasAuthorizationServer)('two servers and two services on one database', () => {
  it('lose, duplicate or mix up none of 1,200 calls while each of them is killed', { timeout: 600_000 }, async () => {
    const machines = await startMachines();
    const { done, clients } = await callAll(machines);

    expect(done).toHaveLength(calls);
    const refused = done.filter((call) => call.refused);
    expectNone(refused, ({ result, failures }) => result !== undefined || !isRefusal(failures.at(-1)!));
    // Only calls in a killed process may fail, and in the end only those that must not be repeated.
    const disturbed = done.filter((call) => !call.refused && call.failures.length > 0);
    expectNone(disturbed, ({ aroundKill }) => !aroundKill);
    const failed = disturbed.filter(({ result }) => result === undefined);
    expectNone(failed, ({ tool }) => tool !== 'run_inference');
    expect(disturbed.length).toBeLessThanOrEqual(kills * clients);

    expectNone(
      done,
      ({ result, expected }) =>
        result !== undefined && !expected(result).every(([actual, wanted]) => isDeepStrictEqual(actual, wanted)),
    );
    for (const subject of machines.subjects) await expectStored(subject, done, machines);
    expectAskedOnce(done, machines);

    const writes = done.filter(({ mark, result }) => mark !== undefined && result !== undefined);
    console.log(
      `cluster: ${done.length} calls of ${machines.subjects.length} subjects by ${clients} clients, ${writes.length} writes acknowledged, ` +
        `${kills} processes killed, ${disturbed.length} calls disturbed, ${disturbed.length - failed.length} repeated with success, ` +
        `${failed.length} inferences failed, ${refused.length} refused by scope; 0 lost, 0 doubled, 0 to the wrong subject; ` +
        `at most ${memoryMb(machines.servers)} MB in a server, ${memoryMb(machines.services)} MB in a service`,
    );
  });
});

/** Asserts that no call matches, and shows the first few that do. */
function expectNone(among: Done[], isLikeThis: (call: Done) => boolean): void {
  const found = among.filter(isLikeThis);
  const shown = found.slice(0, 5).map((call) => JSON.stringify(call).slice(0, 2_000));
  expect({ count: found.length, shown }).toEqual({ count: 0, shown: [] });
}

/** Makes the calls while it kills and restarts servers and services. */
async function callAll(machines: Machines): Promise<{ done: Done[]; clients: number }> {
  const done: Done[] = [];
  const pending = new Set<Done>();
  let dying = false;
  let started = 0;
  const clients = machines.subjects.flatMap((subject) => {
    const own = { sequence: 0, items: itemsOf(subject, machines) };
    return Array.from({ length: kinds.length * clientsEach }, async (_, index) => {
      const call = await connect(kinds[index % kinds.length]!, subject, machines);
      const items = await own.items;
      while (started < calls) {
        started += 1;
        const job = jobOf(subject, own.sequence++, items);
        const entry: Done = { ...job, subject: subject.name, failures: [], aroundKill: dying };
        pending.add(entry);
        Object.assign(entry, await call(job.tool, job.args));
        pending.delete(entry);
        done.push(entry);
      }
    });
  });
  const all = Promise.all(clients);

  const { servers, services } = machines;
  for (let round = 0; round < kills; round++) {
    const soFar = (calls * (round + 1)) / (kills + 1);
    const enough = expect.poll(() => done.length, { timeout: 500_000, interval: 5 }).toBeGreaterThanOrEqual(soFar);
    await Promise.race([enough, all]);
    const pair = round % 2 === 0 ? servers : services;
    const which = round % 4 < 2 ? 0 : 1;
    dying = true;
    for (const entry of pending) entry.aroundKill = true;
    await pair.kill(which);
    dying = false;
    await pair.restart(which);
  }
  await all;
  return { done, clients: clients.length };
}

/** Returns the highest memory use of the processes. */
function memoryMb({ running }: Machines['servers'] | Machines['services']): number {
  const kilobytes = running.map(({ child }) =>
    Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]),
  );
  return Math.round(Math.max(...kilobytes) / 1024);
}
