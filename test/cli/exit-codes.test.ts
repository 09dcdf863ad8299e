import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allTools } from '../../src/tools/index.ts';
import { startProxy } from '../support/both-services.ts';
import { account, startTestService } from '../support/embedded-service.ts';
import { call, command, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

/** Tools whose change a service makes as a whole or refuses. */
const allOrNothing = [
  'claim_queue_items',
  'create_dataset',
  'create_evaluation',
  'create_prompt',
  'create_queue',
  'create_scorer',
  'run_inference',
];

describe('a tool that changes something', () => {
  it('does all of it or fails, or says what it has left undone', () => {
    const silent = allTools.filter(({ hints, isIncomplete }) => !hints.readOnlyHint && isIncomplete === undefined);
    expect(silent.map(({ name }) => name).sort()).toEqual(allOrNothing);
  });
});

describe('heddle call', () => {
  const bulk = {
    queue_id: 'support-triage',
    filter: { annotation_states: ['unstarted'] },
    change: { annotation_state: 'skipped' },
  };

  it('exits with 1 if a failure kept a change from some of the items, and with 0 once all have it', async () => {
    const service = await startTestService({ sample: true });
    let left = 3;
    const url = await startProxy(service.running.url, (path) => {
      if (path === '/annotation_queues/support-triage/progress') return 'miss';
      if (path.endsWith('/progress')) left -= 1;
      return left < 0 ? 'refuse' : 'pass';
    });
    const environment = emptyHome(temporaryFolder(), {
      HEDDLE_BASE_URL: url,
      HEDDLE_PROJECT: 'demo/support',
      HEDDLE_USERNAME: account.name,
      HEDDLE_PASSWORD: account.password,
    });
    const stopped = await call('update_queue_items', bulk, environment);
    expect(stopped).toMatchObject({ code: 1, result: { counts: { done: 3 } } });
    expect(stopped.result.remaining).toBeGreaterThan(0);
    left = 1000;
    expect(await call('update_queue_items', bulk, environment)).toMatchObject({ code: 0 });
    expect(await call('update_queue_items', bulk, environment)).toMatchObject({ code: 0, result: { matched: 0 } });
  });

  // Arguments, and the exit code.
  it.each([
    ['update_queue_items', { queue_id: 'support-triage', items: [{ item_id: 'none', note: 'x' }] }, 1],
    ['update_queue_items', { queue_id: 'support-triage', items: [{ item_id: 'none', note: 'x' }], dry_run: true }, 0],
    ['add_queue_items', { queue_id: 'support-triage', call_ids: ['support-0001', 'none'] }, 1],
    ['add_queue_items', { queue_id: 'support-triage', call_ids: ['support-0001', 'none'], dry_run: true }, 0],
    ['add_queue_items', { queue_id: 'support-triage', call_ids: ['support-0001'] }, 0],
  ])('with %s %j exits with %i', async (tool, args, code) => {
    expect((await call(tool, args, emptyHome(temporaryFolder()))).code).toBe(code);
  });
});

describe('a change of which the reader of the output wants nothing', () => {
  it('is made all the same', async () => {
    const home = temporaryFolder();
    const environment = emptyHome(home);
    expect((await run(['service', 'add-user', 'ada', '--all-projects'], environment)).code).toBe(0);
    const backup = join(home, 'backup.db');
    expect((await run(['service', 'backup', backup], environment)).code).toBe(0);
    for (const [file, args] of [
      [join(home, 'clients.json'), ['setup', 'cursor', '--file', join(home, 'clients.json'), '--yes']],
      [join(home, 'other', 'heddle.db'), ['service', 'restore', backup, '--yes', '--data-dir', join(home, 'other')]],
    ] as const) {
      const child = spawn(process.execPath, [command, ...args], { env: environment });
      child.stdout.destroy();
      const [code] = await once(child, 'close');
      expect([args[0], code, existsSync(file)]).toEqual([args[0], 0, true]);
    }
  });
});
