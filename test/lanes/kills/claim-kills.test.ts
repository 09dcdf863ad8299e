import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { atOnce } from '../../support/concurrent-requests.ts';
import { execute, storedIn, temporaryData, withStore } from '../../support/embedded-service.ts';
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.ts';
import { tally } from '../../support/tally.ts';

const project_id = 'p/q';
const item = { call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
const itemCount = 1000;
const annotators = 20;
const itemsPerClaim = 9;
const reviewers = 2;
/** Annotators whose process is killed at a random moment: some come back, and the others do not. */
const comingBack = 8;
const goneForGood = 4;

/** An annotator with an account and a process of its own. */
interface Annotator {
  name: string;
  authorization: string;
  service: ServiceProcess;
  killed: boolean;
}

it('20 processes that claim 1,000 items, 12 of them killed, give each item exactly two opinions', async () => {
  const data = await temporaryData();
  const environment = { ...storedIn(data), HEDDLE_LOG_LEVEL: 'error' };
  const accounts = await withStore(data, async (store) => {
    const lines = Array.from({ length: itemCount }, (_, n) => JSON.stringify({ ...item, call_id: `call-${n}` }));
    await store.importItems(lines, { projectId: project_id, queueId: 'shared' });
    const added: { name: string; authorization: string }[] = [];
    for (let n = 0; n < annotators; n += 1) {
      const name = `annotator-${n}`;
      const { password } = await store.addUser(name, 'all');
      added.push({ name, authorization: `Basic ${btoa(`${name}:${password}`)}` });
    }
    return added;
  });
  const people: Annotator[] = await atOnce(4, accounts, async (account) => {
    return { ...account, service: await startServiceProcess(environment), killed: false };
  });
  await send(people[0]!, 'PUT', '', { reviewers_per_item: reviewers });

  const acknowledged = new Set<string>();
  /** Claims and finishes items until no item wants an opinion, or the process is killed. */
  const work = async (person: Annotator): Promise<void> => {
    for (;;) {
      const claim = { n: itemsPerClaim, minutes: 60, as: 'agent', prolong: true };
      const { items } = await send(person, 'POST', '/claims', claim);
      if (items.length === 0) return;
      const updates = items.map(({ id }: { id: string }) => ({ item_id: id, annotation_state: 'completed' }));
      const { results } = await send(person, 'POST', '/progress', { updates });
      expect(results.filter(({ reason }: { reason?: string }) => reason !== undefined)).toEqual([]);
      for (const { item_id } of updates) acknowledged.add(`${item_id} ${person.name}`);
    }
  };
  const workUntilKilled = async (person: Annotator): Promise<void> => {
    try {
      await work(person);
    } catch (error) {
      // The request that the kill cut off.
      if (!person.killed || !(error instanceof TypeError)) throw error;
    }
  };
  const kill = async (person: Annotator): Promise<void> => {
    await wait(Math.random() * 1500);
    person.killed = true;
    const ended = once(person.service.child, 'exit');
    person.service.child.kill('SIGKILL');
    await ended;
    tally('kill rounds', 1);
  };
  const checks = { done: false, above: 0 };
  const watching = (async () => {
    while (!checks.done) {
      checks.above += (await itemsAbove(data)).length;
      await wait(100);
    }
  })();

  const victims = people.slice(0, comingBack + goneForGood);
  await Promise.all([...people.map(workUntilKilled), ...victims.map(kill)]);
  const gone = victims.slice(comingBack).map(({ name }) => `'${name}'`);
  // Their claims end now, as if the hour had passed.
  await execute(
    data,
    `update item_claims set held_until = '2026-01-01T00:00:00.000Z' where account in (${gone.join()})`,
  );
  for (const person of victims.slice(0, comingBack)) {
    person.service = await startServiceProcess(environment);
    person.killed = false;
  }
  await Promise.all(people.filter(({ killed }) => !killed).map(work));
  checks.done = true;
  await watching;

  const opinions = await execute(
    data,
    "select item_id, annotator_user_id from annotator_progress where annotation_state = 'completed'",
  );
  const stored = new Set(opinions.map(({ item_id, annotator_user_id }) => `${item_id} ${annotator_user_id}`));
  const lost = [...acknowledged].filter((opinion) => !stored.has(opinion));
  const counts = new Map<unknown, number>();
  for (const { item_id } of opinions) counts.set(item_id, (counts.get(item_id) ?? 0) + 1);
  tally('lost', lost.length);
  expect({ lost, above: checks.above }).toEqual({ lost: [], above: 0 });
  expect([counts.size, ...new Set(counts.values())]).toEqual([itemCount, reviewers]);
}, 600_000);

/** Sends a request about the queue. */
// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
async function send({ service, authorization }: Annotator, method: string, path: string, body: object): Promise<any> {
  const response = await fetch(`${service.url}/annotation_queues/shared${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ project_id, ...body }),
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return JSON.parse(text);
}

/** Returns the items with more opinions and claims than they want. */
function itemsAbove(data: string): Promise<Record<string, unknown>[]> {
  return execute(
    data,
    `select item_id from (
      select item_id from annotator_progress where annotation_state = 'completed'
      union all select item_id from item_claims where held_until > '2026-02-01'
    ) as held group by item_id having count(*) > ${reviewers}`,
  );
}
