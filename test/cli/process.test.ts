import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { startFakeService } from '../support/fake-service.ts';
import { command, emptyHome, runProcess, temporaryFolder } from '../support/heddle.ts';
import { startServiceProcess } from '../support/service-process.ts';

/** Throws an uncaught error that quotes the whole environment, on SIGUSR2. */
const crash = `data:text/javascript,process.on('SIGUSR2',()=>{throw new Error(Object.values(process.env).join(' '))})`;

describe('the process of a command', () => {
  it('reads arguments from stdin, writes the result to stdout, and exits with 0', async () => {
    const service = await startFakeService();
    const environment = emptyHome(temporaryFolder(), service.environment);
    const args = ['call', 'query_queue_items', '-'];
    const { code, stdout, stderr } = await runProcess(args, environment, '{"queue_id":"q7"}');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toHaveProperty('items');
    expect(service.requests.map(({ path }) => path)).toEqual(['/annotation_queues/q7/items/query']);
  });

  it('exits with 1 when a tool call fails, with the error on stderr', async () => {
    const service = await startFakeService();
    service.nextStatuses = [404];
    const environment = emptyHome(temporaryFolder(), service.environment);
    expect(await runProcess(['call', 'query_queue_items', '{"queue_id":"q"}'], environment)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('(not_found, status 404)'),
    });
  });

  it('exits with 2 for wrong usage', async () => {
    expect(await runProcess(['srve'], emptyHome(temporaryFolder()))).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining("heddle: unknown command 'srve'"),
    });
  });

  it('exits with 0 when the reader of its output closes the pipe', async () => {
    const child = spawn(process.execPath, [command, 'tools', '--json'], { env: emptyHome(temporaryFolder()) });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('exits with 1 on an uncaught error, which it reports without secrets', async () => {
    const service = await startFakeService();
    const environment = emptyHome(temporaryFolder(), {
      ...service.environment,
      HEDDLE_PASSWORD: 'correct-horse-battery',
      NODE_OPTIONS: `--import=${JSON.stringify(crash)}`,
    });
    const child = spawn(process.execPath, [command, 'call', 'query_queue_items', '{"queue_id":"q"}'], {
      env: environment,
    });
    service.respond = () => child.kill('SIGUSR2');
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('heddle: unexpected failure: Error:');
    expect(stderr).toContain('[secret]');
    expect(stderr).not.toContain('correct-horse');
  });

  it('exits with 1 on an uncaught error after its files were removed', async () => {
    const service = await startFakeService();
    const folder = temporaryFolder();
    const root = dirname(dirname(command));
    cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(folder, 'package.json'));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const environment = emptyHome(temporaryFolder(), {
      ...service.environment,
      NODE_OPTIONS: `--import=${JSON.stringify(crash)}`,
    });
    const script = join(folder, 'dist', basename(command));
    const child = spawn(process.execPath, [script, 'call', 'query_queue_items', '{"queue_id":"q"}'], {
      env: environment,
    });
    service.respond = () => {
      rmSync(join(folder, 'dist'), { recursive: true });
      child.kill('SIGUSR2');
    };
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'heddle: unexpected failure, which cannot be reported: was heddle updated meanwhile? Start it again.\n',
    });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 when %s ends a service', async (signal) => {
    const { child } = await startServiceProcess();
    const closed = once(child, 'close');
    child.kill(signal);
    expect(await closed).toEqual([0, null]);
  });
});
