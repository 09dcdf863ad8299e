import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { changeFile, withStore } from '../../support/embedded-service.ts';
import { parseErrorText } from '../../support/error-text.ts';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { tally } from '../../support/tally.ts';

const evaluation = { name: 'E', dataset: 'weave:///demo/support/object/tickets:latest' };

/** Starts a server with its data in a folder, after the shell commands in `shell`, and returns a function that calls tools. */
async function start(dataDir: string, shell?: string) {
  const home = temporaryFolder();
  chmodSync(home, 0o755);
  const env = emptyHome(home, { HEDDLE_DATA_DIR: dataDir });
  const [file, args] = shell
    ? ['sh', ['-c', `${shell}; exec "$0" "$@"`, process.execPath, command]]
    : [process.execPath, [command]];
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command: file, args, env, stderr: 'ignore' }));
  onTestFinished(() => client.close());
  tally('faults', 1);
  return async (name: string, args: Record<string, unknown>) => {
    const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
    const [block] = content as unknown as [{ text: string }];
    return isError ? parseErrorText(block.text) : { code: 'ok', ...(structuredContent as object) };
  };
}

describe('the storage of the embedded service', () => {
  it.skipIf(process.platform === 'win32')(
    'reports a full disk to the client, keeps every acknowledged write and skips no version index afterwards',
    async () => {
      const folder = temporaryFolder();
      // With a limit on the size of files, writes fail like on a full disk.
      const call = await start(folder, `trap '' XFSZ; ulimit -f 1000`);
      const acknowledged: number[] = [];
      let failure: { code: string } | undefined;
      for (let index = 0; !failure; index += 1) {
        const result = await call('create_evaluation', {
          ...evaluation,
          description: `${index} ${'x'.repeat(20_000)}`,
        });
        if (result.code === 'ok') acknowledged.push((result as unknown as { version_index: number }).version_index);
        else failure = result;
      }
      expect(failure).toMatchObject({
        code: 'service_unavailable',
        message: expect.stringContaining('could not be written: the disk is full or failing'),
      });
      // Reads still work.
      expect(await call('query_queue_items', { queue_id: 'support-triage' })).toMatchObject({ code: 'ok' });
      const after = await start(folder);
      expect(await after('create_evaluation', { ...evaluation, description: 'there is space again' })).toMatchObject({
        version_index: acknowledged.length,
      });
      expect(acknowledged).toEqual(acknowledged.map((_, index) => index));
      await withStore(join(folder, 'heddle.db'), async (store) => {
        expect(await store.integrityCheck()).toEqual([]);
        const { objects } = (await store.list('demo/support'))[0]!;
        expect(objects.find(({ object_id }) => object_id === 'e')?.versions).toHaveLength(acknowledged.length + 1);
      });
    },
  );

  it('reports a data folder that is a file', async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, 'data');
    writeFileSync(dataDir, 'not a folder');
    const call = await start(dataDir);
    for (const [name, args] of [
      ['create_evaluation', evaluation],
      ['list_queues', {}],
    ] as const) {
      const result = await call(name, args);
      expect(result).toMatchObject({
        code: 'service_unavailable',
        message: expect.stringContaining(`${dataDir} is not a folder`),
        hint: expect.stringContaining('HEDDLE_DATA_DIR'),
      });
      expect(JSON.stringify(result)).not.toContain('at ');
    }
    expect(readFileSync(dataDir, 'utf8')).toBe('not a folder');
  });

  it('reports a data file that is a folder', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'heddle.db');
    mkdirSync(file);
    const call = await start(folder);
    expect(await call('list_queues', {})).toMatchObject({
      code: 'service_unavailable',
      message: `The data file ${file} cannot be used: it is a folder.`,
      hint: 'Move it away, or set HEDDLE_DATA_DIR to another folder.',
    });
  });

  it.skipIf(process.platform === 'win32')('reports a data file that is a pipe, without waiting for it', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'heddle.db');
    execFileSync('mkfifo', [file]);
    const call = await start(folder);
    expect(await call('list_queues', {})).toMatchObject({
      code: 'service_unavailable',
      message: `The data file ${file} cannot be used: it is not a regular file.`,
    });
  });

  it.skipIf(process.platform === 'win32')(
    'reports a data folder without write permission, and works once it has one',
    async () => {
      const folder = temporaryFolder();
      const dataDir = join(folder, 'data');
      mkdirSync(dataDir, { mode: 0o555 });
      chmodSync(folder, 0o755);
      // Root may write everywhere, so the server runs as another user.
      const nobody = 'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0" "$@"';
      const call = await start(dataDir, process.getuid?.() === 0 ? nobody : undefined);
      for (const [name, args] of [
        ['create_evaluation', evaluation],
        ['list_queues', {}],
      ] as const) {
        expect(await call(name, args)).toMatchObject({
          code: 'service_unavailable',
          message: expect.stringContaining('cannot be created (EACCES)'),
          hint: expect.stringContaining('permissions'),
        });
      }
      // The same server works once the folder can be written.
      chmodSync(dataDir, 0o777);
      expect(await call('list_queues', {})).toMatchObject({ code: 'ok' });
    },
  );

  it('reports a data file with another schema, and does not change it', async () => {
    const folder = temporaryFolder();
    const first = await start(folder);
    await first('create_evaluation', evaluation);
    const file = join(folder, 'heddle.db');
    await changeFile(file, 'delete from schema_version; pragma wal_checkpoint(truncate)');
    const before = readFileSync(file);
    const call = await start(folder);
    for (let time = 0; time < 2; time += 1) {
      expect(await call('create_evaluation', { ...evaluation, name: 'other' })).toMatchObject({
        code: 'not_configured',
        message: expect.stringContaining('has a different schema'),
      });
    }
    expect(readFileSync(file).equals(before)).toBe(true);
    if (existsSync(`${file}-wal`)) expect(readFileSync(`${file}-wal`)).toHaveLength(0);
  });
});
