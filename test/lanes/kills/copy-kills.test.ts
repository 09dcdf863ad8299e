import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { alternateBetween } from '../../support/alternating-proxy.ts';
import { startTestService, storedIn, withStore } from '../../support/embedded-service.ts';
import { fillProject, senderTo } from '../../support/filled-project.ts';
import { command, run, temporaryFolder } from '../../support/heddle.ts';
import { type Account, setUpProfiles } from '../../support/profiles.ts';
import { publicProject, startPublicTarget } from '../../support/public-target.ts';
import { readWholeProject, type WholeProject } from '../../support/whole-project.ts';

/** Recorded calls of the project that is copied: `HEDDLE_COPY_CALLS=100000 npm run test:kills -- copy` copies more. */
const callCount = Number(process.env.HEDDLE_COPY_CALLS ?? 3000);
const project = 'team/support';
/** The numbers of the writing requests at which the copy is killed, in one run after the other. */
const kills = [3, 7, 1 + Math.ceil(callCount / 1500), 1 + Math.ceil(callCount / 1500), 5];

const source = await startTestService();
const accountAt = async (data: string, baseUrl: string, username: string): Promise<Account> => {
  const { password, token } = await withStore(data, (store) => store.addUser(username, 'all'));
  return { baseUrl, project, username, password, token };
};
const basicOf = ({ username, password }: Account): string => `Basic ${btoa(`${username}:${password}`)}`;
const ada = basicOf(await accountAt(source.data, source.running.url, 'ada'));
const bob = basicOf(await accountAt(source.data, source.running.url, 'bob'));
await fillProject({ service: source, ada, bob }, project, callCount);
const whole = await readWholeProject(senderTo(source.running.url, ada), project);

/** A copy that runs in a process of its own. */
let running: ReturnType<typeof spawn> | undefined;
let writes = 0;
let killAt = Number.POSITIVE_INFINITY;

/** Counts a request, and kills the copy when it is that at which the copy is to be killed. Returns false then. */
function note(path: string): boolean {
  if (!/[/](create|complete|items|progress|annotation_queues|start|create_from_digests)$/.test(path)) return true;
  writes += 1;
  if (writes !== killAt) return true;
  running?.kill('SIGKILL');
  return false;
}

/** Copies with a process that is killed five times, and then to the end. Returns the time of all runs in seconds. */
async function copyWithKills(account: Account, ...args: string[]): Promise<number> {
  const { environment } = setUpProfiles({ cloud: account }, {});
  const startedAt = performance.now();
  for (const at of [...kills, Number.POSITIVE_INFINITY]) {
    [writes, killAt] = [0, at];
    running = spawn(process.execPath, [command, 'service', 'copy', '--to', 'cloud', '--project', project, ...args], {
      env: { ...environment, ...storedIn(source.data) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    running.stderr!.on('data', (bytes) => {
      stderr += bytes;
    });
    const [code, signal] = await once(running, 'exit');
    // The source has projects of other tests.
    stderr = stderr.replace(/^Not copied: team\/\w+\.\n$/, '');
    expect([code, signal, stderr]).toEqual(at === Number.POSITIVE_INFINITY ? [0, null, ''] : [null, 'SIGKILL', '']);
  }
  return (performance.now() - startedAt) / 1000;
}

/** Returns the project as the copy of one account is to be, which says whose each judgement is. */
function copiedBy(user: string): WholeProject {
  const feedback = whole.feedback.map((entry) => ({
    ...entry,
    user,
    creator: entry.creator === null ? entry.user : `${entry.user} (${entry.creator})`,
  }));
  return { ...whole, feedback };
}

describe('heddle service copy', () => {
  it(`copies ${callCount} calls to another heddle, killed five times, so that nothing is missing or twice`, async () => {
    const target = await startTestService();
    // Killed when its request has been carried out, before the response arrives.
    const url = await alternateBetween([target.running.url], note);
    const account = await accountAt(target.data, url, 'mia');
    console.log(`to another heddle: ${(await copyWithKills(account)).toFixed(1)} s`);
    killAt = Number.POSITIVE_INFINITY;
    const copied = await readWholeProject(senderTo(target.running.url, basicOf(account)), project);
    expect(copied.calls.length).toBe(callCount);
    expect(copied).toEqual(copiedBy('mia'));
  }, 900_000);

  it('copies a list of rows that is too long for one request', async () => {
    const rows = Array.from({ length: 10_001 }, (_, n) => ({ n }));
    const send = senderTo(source.running.url, ada);
    const { digest } = await send('POST', '/table/create', { table: { project_id: 'team/rows', rows } });
    const target = await startTestService();
    const account = await accountAt(target.data, target.running.url, 'mia');
    const { environment } = setUpProfiles({ cloud: account }, {});
    const args = ['service', 'copy', '--to', 'cloud', '--project', 'team/rows'];
    expect(await run(args, { ...environment, ...storedIn(source.data) })).toMatchObject({ code: 0 });
    const table = { project_id: 'team/rows', digest, limit: 2, offset: 9999 };
    const found = await senderTo(target.running.url, basicOf(account))('POST', '/table/query', table);
    expect(found.rows).toMatchObject([{ val: { n: 9999 } }, { val: { n: 10_000 } }]);
  });

  it(`copies ${callCount} calls to the recorded public service, killed five times, so that nothing is missing or twice`, async () => {
    const target = await startPublicTarget();
    // The request of a killed copy is lost, or carried out although no one hears of it.
    target.onRequest = ({ path }) => note(path) || killAt % 2 === 1;
    const account = { baseUrl: target.url, project: publicProject, username: 'api', password: 'key', token: 'key' };
    const ids = join(temporaryFolder(), 'ids.jsonl');
    const seconds = await copyWithKills(account, '--to-project', publicProject, '--ids', ids);
    console.log(`to the recorded public service: ${seconds.toFixed(1)} s`);
    killAt = Number.POSITIVE_INFINITY;
    const lines = readFileSync(ids, 'utf8').trim().split('\n');
    const idsHere = new Map(
      lines.map((line) => JSON.parse(line)).map(({ id, target_id }): [string, string] => [target_id, id]),
    );
    const copied = await readWholeProject(senderTo(target.url, 'Basic YXBpOmtleQ=='), publicProject, idsHere);
    const objects = copied.objects.filter(({ object_id }) => !['score', 'rows', 'helpful'].includes(object_id));
    const queues = copied.queues.filter(({ name }) => name !== 'Q');
    expect({ ...copied, objects, queues }).toEqual(copiedBy('user-key'));
    expect(copied.calls.length).toBe(callCount);
    expect(Math.max(...target.recorded.values())).toBe(1);
  }, 900_000);
});
