import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { startService } from '../../src/service/index.ts';
import { loadSqlite, openConnection } from '../../src/service/storage/sqlite/connection.ts';
import { account, basic } from './account.ts';
import { tally } from './tally.ts';

type Fact = { what: string; [member: string]: unknown };

const workerFile = fileURLToPath(new URL('kill-worker.ts', import.meta.url));

/** Lets three processes work on one file, kills each at a random point, and looks whether all they told of is there. */
export async function killRounds(rounds: number): Promise<{ acknowledged: number; lost: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-kill-'));
  const dataFile = join(folder, 'heddle.db');
  let acknowledged = 0;
  let lost = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      const facts = (await Promise.all([0, 1, 2].map((number) => untilKilled(dataFile, `r${round}w${number}`)))).flat();
      acknowledged += facts.length;
      lost += (await missing(dataFile, facts)).length;
      expect(await faultsOf(dataFile)).toEqual([]);
      tally('kill rounds', 1);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  tally('lost', lost);
  return { acknowledged, lost };
}

async function untilKilled(dataFile: string, name: string): Promise<Fact[]> {
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', workerFile, dataFile, name], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr!.on('data', (bytes) => {
    complaint += bytes;
  });
  const facts: Fact[] = [];
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  // A random number of acknowledgements, and a random moment after the last of them: anywhere inside a write.
  const enough = 1 + Math.floor(Math.random() * 40);
  createInterface({ input: child.stdout! }).on('line', (line) => {
    facts.push(JSON.parse(line));
    if (facts.length === enough) setTimeout(() => child.kill('SIGKILL'), Math.random() * 10);
  });
  await ended;
  expect([child.signalCode, complaint]).toEqual(['SIGKILL', '']);
  return facts.filter(({ what }) => what !== 'ready');
}

/** What was acknowledged and is not there, as the service itself tells it. */
async function missing(dataFile: string, facts: Fact[]): Promise<Fact[]> {
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
    return facts.filter(({ what, ...fact }) => {
      if (what === 'version') return versions[fact.version_index as number] !== fact.digest;
      if (what === 'item') return !calls.has(fact.call_id as string);
      if (what === 'progress') return !completed.has(fact.id as string);
      return !feedback.has(fact.id as string);
    });
  } finally {
    await service.close();
  }
}

async function withFile<T>(
  dataFile: string,
  read: (query: (sql: string) => Record<string, unknown>[]) => T,
): Promise<T> {
  const database = openConnection(await loadSqlite(), dataFile);
  try {
    return read((sql) => database.prepare(sql).all() as Record<string, unknown>[]);
  } finally {
    database.close();
  }
}

const versionsOf = (dataFile: string) =>
  withFile(dataFile, (query) =>
    query("select digest from objects where object_id = 'shared' order by version_index").map(({ digest }) => digest),
  );

const feedbackOf = (dataFile: string) =>
  withFile(dataFile, (query) => new Set(query('select id from feedback').map(({ id }) => id)));

/** Faults that the engine finds in the file, indices that are not dense, and items that are there twice. */
const faultsOf = (dataFile: string) =>
  withFile(dataFile, (query) => [
    ...query('pragma integrity_check').filter((row) => row.integrity_check !== 'ok'),
    ...query('pragma foreign_key_check'),
    ...query(
      'select object_id, count(*) as n, max(version_index) as top from objects group by project_id, object_id having n <> top + 1',
    ),
    ...query('select call_id from queue_items group by project_id, queue_id, call_id having count(*) > 1'),
  ]);
