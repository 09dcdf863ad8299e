import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'vitest';
import { create } from './concurrent-requests.ts';
import { execute, onPostgres, storedIn, temporaryData, withStore } from './embedded-service.ts';
import { otlpMessage, otlpSpan } from './otlp-messages.ts';
import { startServiceProcess } from './service-process.ts';
import { tally } from './tally.ts';

/** A write that the service has acknowledged. */
type AcknowledgedWrite =
  | { what: 'version'; version_index: number; digest: string }
  | { what: 'call' | 'item' | 'progress' | 'feedback'; id: string }
  | { what: 'spans'; ids: string[] };

/** The storage that the services share, and an account. */
interface Shared {
  data: string;
  authorization: string;
  queueId: string;
}

const project_id = 'p/q';

/** Writes that every service acknowledges at least before it is killed. */
export const fewestWrites = 5;

/**
 * Lets three services write to one storage, kills each at a random moment, and counts the acknowledged writes that are
 * missing afterwards.
 */
export async function killRounds(rounds: number): Promise<{ acknowledged: number; lost: number }> {
  const shared = await prepare();
  let acknowledged = 0;
  let lost = 0;
  for (let round = 0; round < rounds; round += 1) {
    const writers = [0, 1, 2].map((number) => writeUntilKilled(shared, `r${round}w${number}`));
    const writes = (await Promise.all(writers)).flat();
    acknowledged += writes.length;
    lost += (await findLost(shared.data, writes)).length;
    expect(await damageIn(shared.data)).toEqual([]);
    tally('kill rounds', 1);
  }
  tally('lost', lost);
  return { acknowledged, lost };
}

async function prepare(): Promise<Shared> {
  const data = await temporaryData();
  const { password } = await withStore(data, (store) => store.addUser('ada', 'all'));
  const authorization = `Basic ${btoa(`ada:${password}`)}`;
  const { url, child } = await startServiceProcess(storedIn(data));
  const queue = { project_id, name: 'work', description: '', scorer_refs: [] };
  const { id } = await post(url, authorization, '/annotation_queues', queue);
  child.kill('SIGKILL');
  return { data, authorization, queueId: id };
}

// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
async function post(url: string, authorization: string, path: string, body: object): Promise<any> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(response.status, `${path}: ${text}`).toBe(200);
  return JSON.parse(text);
}

/** Writes through a service until it is killed, and returns the writes that it acknowledged. */
async function writeUntilKilled(shared: Shared, name: string): Promise<AcknowledgedWrite[]> {
  const { url, child, stderr } = await startServiceProcess({ ...storedIn(shared.data), HEDDLE_LOG_LEVEL: 'error' });
  const ended = once(child, 'exit');
  const writes: AcknowledgedWrite[] = [];
  // A random moment after a random number of acknowledgements falls anywhere inside a write.
  const enough = fewestWrites + Math.floor(Math.random() * 40);
  try {
    for await (const write of writesOf(url, shared, name)) {
      writes.push(write);
      if (writes.length === enough) setTimeout(() => child.kill('SIGKILL'), Math.random() * 10);
    }
  } catch (error) {
    // The request that the kill cut off.
    if (!child.killed || !(error instanceof TypeError)) throw error;
  }
  await ended;
  expect([child.signalCode, stderr()]).toEqual(['SIGKILL', `listening on ${url}\n`]);
  return writes;
}

/** Makes writes of every kind without end, and yields each after the service has acknowledged it. */
async function* writesOf(
  url: string,
  { authorization, queueId }: Shared,
  name: string,
): AsyncGenerator<AcknowledgedWrite> {
  const send = (path: string, body: object) => post(url, authorization, path, { project_id, ...body });
  for (let index = 0; ; index += 1) {
    const id = `${name}-${index}`;
    const version = await create(url, authorization, id);
    expect(version.status).toBe(200);
    yield { what: 'version', version_index: version.body.version_index, digest: version.body.digest };

    const start = { project_id, id, op_name: 'op', started_at: '2026-01-01T00:00:00Z', attributes: {}, inputs: {} };
    await send('/call/start', { start });
    yield { what: 'call', id };

    // More spans than one transaction stores.
    const spanIds = Array.from({ length: 300 }, () => randomBytes(8).toString('hex'));
    const spans = spanIds.map((spanId) => otlpSpan({ spanId }));
    const resource = { 'wandb.entity': 'p', 'wandb.project': 'q' };
    await send('/otel/v1/traces', otlpMessage(spans, resource));
    yield { what: 'spans', ids: spanIds };

    await send(`/annotation_queues/${queueId}/items`, { call_ids: [id], display_fields: [] });
    yield { what: 'item', id };

    const { items } = await send(`/annotation_queues/${queueId}/items/query`, { filter: { call_id: id } });
    const path = `/annotation_queues/${queueId}/items/${items[0].id}/progress`;
    await send(path, { annotation_state: 'completed' });
    yield { what: 'progress', id };

    const weave_ref = `weave:///p/q/call/${id}`;
    await send('/feedback/create', { weave_ref, feedback_type: 'good', payload: { value: index }, id });
    yield { what: 'feedback', id };
  }
}

/** Returns the acknowledged writes that are not in a storage. */
async function findLost(data: string, writes: AcknowledgedWrite[]): Promise<AcknowledgedWrite[]> {
  const idsIn = async (rows: string) => new Set((await execute(data, `select id from ${rows}`)).map(({ id }) => id));
  const stored = {
    call: await idsIn('calls'),
    item: await idsIn('(select call_id as id from queue_items) as items'),
    progress: await idsIn("(select call_id as id from queue_items where annotation_state = 'completed') as completed"),
    feedback: await idsIn('feedback'),
  };
  const spans = await idsIn('calls where ended_at is not null');
  const versions = await execute(data, "select digest from objects where object_id = 'shared' order by version_index");
  return writes.filter((write) => {
    if (write.what === 'version') return versions[write.version_index]?.digest !== write.digest;
    if (write.what === 'spans') return !write.ids.every((id) => spans.has(id));
    return !stored[write.what].has(write.id);
  });
}

/** Returns the damage that the database finds in a storage, gaps in version indices, and duplicate items. */
async function damageIn(data: string): Promise<unknown[]> {
  return [
    ...(await withStore(data, (store) => store.integrityCheck())),
    // PostgreSQL has no such check.
    ...(onPostgres ? [] : await execute(data, 'pragma foreign_key_check')),
    ...(await execute(
      data,
      'select object_id from objects group by project_id, object_id having count(*) <> max(version_index) + 1',
    )),
    ...(await execute(
      data,
      'select call_id from queue_items group by project_id, queue_id, call_id having count(*) > 1',
    )),
  ];
}
