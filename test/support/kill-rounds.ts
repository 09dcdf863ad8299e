import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { startService } from '../../src/service/index.ts';
import { execute } from './embedded-service.ts';
import { temporaryFolder } from './heddle.ts';
import { tally } from './tally.ts';
import { account, basic } from './test-account.ts';

/** A write that the service has acknowledged, as kill-worker.ts prints it. */
type AcknowledgedWrite = { what: string; [member: string]: unknown };

const workerFile = fileURLToPath(new URL('kill-worker.ts', import.meta.url));

/**
 * Lets three processes write to one data file, kills each at a random moment, and counts the acknowledged writes that
 * are missing afterwards.
 */
export async function killRounds(rounds: number): Promise<{ acknowledged: number; lost: number }> {
  const dataFile = join(temporaryFolder(), 'heddle.db');
  let acknowledged = 0;
  let lost = 0;
  for (let round = 0; round < rounds; round += 1) {
    const workers = [0, 1, 2].map((number) => acknowledgedUntilKilled(dataFile, `r${round}w${number}`));
    const writes = (await Promise.all(workers)).flat();
    acknowledged += writes.length;
    lost += (await findLost(dataFile, writes)).length;
    expect(await damageIn(dataFile)).toEqual([]);
    tally('kill rounds', 1);
  }
  tally('lost', lost);
  return { acknowledged, lost };
}

/** Runs a worker until it is killed, and returns the writes that it reported. */
async function acknowledgedUntilKilled(dataFile: string, name: string): Promise<AcknowledgedWrite[]> {
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', workerFile, dataFile, name], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr!.on('data', (bytes) => {
    stderr += bytes;
  });
  const writes: AcknowledgedWrite[] = [];
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  // A random moment after a random number of acknowledgements falls anywhere inside a write.
  const enough = 1 + Math.floor(Math.random() * 40);
  createInterface({ input: child.stdout! }).on('line', (line) => {
    writes.push(JSON.parse(line));
    if (writes.length === enough) setTimeout(() => child.kill('SIGKILL'), Math.random() * 10);
  });
  await ended;
  expect([child.signalCode, stderr]).toEqual(['SIGKILL', '']);
  return writes.filter(({ what }) => what !== 'ready');
}

/** Returns the acknowledged writes that a service on the data file does not have. */
async function findLost(dataFile: string, writes: AcknowledgedWrite[]): Promise<AcknowledgedWrite[]> {
  const service = await startService({ data: dataFile, account });
  try {
    const get = async (path: string, body?: unknown) => {
      const response = await fetch(service.url + path, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: basic },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      expect(response.status).toBe(200);
      return response.text();
    };
    const { items } = JSON.parse(await get('/annotation_queues/work/items/query', { project_id: 'p/q' })) as {
      items: { id: string; call_id: string; annotation_state: string }[];
    };
    const calls = new Set(items.map(({ call_id }) => call_id));
    const completed = new Set(items.filter((item) => item.annotation_state === 'completed').map(({ id }) => id));
    const versions = await versionsOf(dataFile);
    const feedback = await feedbackOf(dataFile);
    return writes.filter(({ what, ...write }) => {
      if (what === 'version') return versions[write.version_index as number] !== write.digest;
      if (what === 'item') return !calls.has(write.call_id as string);
      if (what === 'progress') return !completed.has(write.id as string);
      return !feedback.has(write.id as string);
    });
  } finally {
    await service.close();
  }
}

async function versionsOf(dataFile: string): Promise<unknown[]> {
  const rows = await execute(dataFile, "select digest from objects where object_id = 'shared' order by version_index");
  return rows.map(({ digest }) => digest);
}

async function feedbackOf(dataFile: string): Promise<Set<unknown>> {
  return new Set((await execute(dataFile, 'select id from feedback')).map(({ id }) => id));
}

/** Returns the damage that SQLite finds in the file, gaps in version indices, and duplicate items. */
async function damageIn(dataFile: string): Promise<Record<string, unknown>[]> {
  const integrity = await execute(dataFile, 'pragma integrity_check');
  return [
    ...integrity.filter((row) => row.integrity_check !== 'ok'),
    ...(await execute(dataFile, 'pragma foreign_key_check')),
    ...(await execute(
      dataFile,
      'select object_id, count(*) as n, max(version_index) as top from objects group by project_id, object_id having n <> top + 1',
    )),
    ...(await execute(
      dataFile,
      'select call_id from queue_items group by project_id, queue_id, call_id having count(*) > 1',
    )),
  ];
}
