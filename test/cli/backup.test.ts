import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { loadSqlite } from '../../src/service/storage/sqlite/sqlite-connection.ts';
import { connectClient } from '../support/client.ts';
import { changeFile, execute } from '../support/embedded-service.ts';
import { call, emptyHome, run, temporaryFolder } from '../support/heddle.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Waits until no command of this process has a data file open. On Node 20, closed ones stay open until their statements are collected. */
async function freeDataFile(file: string): Promise<void> {
  for (let round = 0; round < 20 && (await isLocked(file)); round += 1) {
    collectGarbage();
    // Finalizers run later.
    await setImmediate();
  }
}

async function isLocked(file: string): Promise<boolean> {
  const connection = new (await loadSqlite())(file, { timeout: 0 });
  try {
    // SQLite leaves the WAL mode for the last connection only.
    connection.exec('PRAGMA journal_mode = DELETE');
    return false;
  } catch (error) {
    return (error as Error).message.includes('is locked');
  } finally {
    connection.close();
  }
}

interface Place {
  folder: string;
  environment: Record<string, string>;
  data: string;
  service: (...args: string[]) => ReturnType<typeof run>;
}

/** Creates a home whose queue support-triage exists. */
async function homeWithData(): Promise<Place> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder);
  await run(['call', 'list_queues'], environment);
  const data = join(folder, 'heddle', 'heddle.db');
  return {
    folder,
    environment,
    data,
    service: async (...args) => {
      if (args[0] !== 'backup') await freeDataFile(data);
      return run(['service', ...args], environment);
    },
  };
}

const totalOf = async ({ environment }: Place): Promise<number> =>
  (await call('list_queues', {}, environment)).result.queues[0].total;

const queueNames = async ({ environment }: Place): Promise<string[]> =>
  (await call('list_queues', {}, environment)).result.queues.map(({ name }: { name: string }) => name);

describe('heddle service backup and restore', () => {
  it('says that the folder of the file does not exist', async () => {
    const { folder, service } = await homeWithData();
    const file = join(folder, 'none', 'backup.db');
    expect((await service('backup', file)).stderr).toContain(
      `heddle: ${file} cannot be used: its folder does not exist. Nothing was changed.\n`,
    );
  });

  it('restore the data of the backup, and keep the earlier data in another file', async () => {
    const place = await homeWithData();
    const { folder, data, service, environment } = place;
    const backup = join(folder, 'backup.db');
    expect(await service('backup', backup)).toEqual({
      code: 0,
      stdout: `Backed up ${data} to ${backup}.\n`,
      stderr: '',
    });
    if (process.platform !== 'win32') expect(statSync(backup).mode & 0o777).toBe(0o600);
    await call('create_queue', { name: 'Later' }, environment);
    const restored = await service('restore', backup, '--yes');
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(await queueNames(place)).toEqual(['support-triage']);
    const [, kept] = /^The earlier data is in (\S+);/m.exec(restored.stdout)!;
    expect((await service('restore', kept!, '--yes')).code).toBe(0);
    expect((await queueNames(place)).sort()).toEqual(['Later', 'support-triage']);
    expect(existsSync(backup)).toBe(true);
    expect(readdirSync(join(folder, 'heddle')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('restore nobody who was logged in to the board, and no invitation', async () => {
    const { folder, data, service } = await homeWithData();
    const backup = join(folder, 'backup.db');
    await service('invite', 'ann', 'demo/support');
    const session = "'hash', 'ann', '2026-01-01T00:00:00Z', '2036-01-01T00:00:00Z'";
    await changeFile(
      data,
      `insert into board_sessions (token_hash, account, created_at, expires_at) values (${session})`,
    );
    await service('backup', backup);
    expect((await service('restore', backup, '--yes')).code).toBe(0);
    expect(await execute(data, 'select name from accounts')).toEqual([{ name: 'ann' }]);
    expect(await execute(data, 'select * from board_sessions')).toEqual([]);
    expect(await execute(data, 'select * from board_invitations')).toEqual([]);
  });

  it('back up while a client uses the data, but refuse to restore and to reset', async () => {
    const place = await homeWithData();
    const { folder, data, service, environment } = place;
    const backup = join(folder, 'backup.db');
    const { client } = await connectClient(environment);
    await client.callTool({ name: 'list_queues', arguments: {} });
    expect((await service('backup', backup)).code).toBe(0);
    const before = statSync(data).ino;
    for (const args of [
      ['restore', backup, '--yes'],
      ['reset', '--yes'],
    ]) {
      // `service` would wait until the client no longer uses the data.
      const { code, stdout, stderr } = await run(['service', ...args], environment);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`A heddle process uses ${data}. Nothing was changed.`);
    }
    expect(statSync(data).ino).toBe(before);
    const { isError } = await client.callTool({ name: 'create_queue', arguments: { name: 'Still here' } });
    expect(isError).toBeFalsy();
    await client.close();
    expect(await queueNames(place)).toContain('Still here');
  });

  it('refuse files that are not backups, and leave the data unchanged', async () => {
    const place = await homeWithData();
    const { folder, data, service } = place;
    const backup = join(folder, 'backup.db');
    await service('backup', backup);
    expect(await service('backup', backup)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exists already'),
    });
    const cut = join(folder, 'cut.db');
    writeFileSync(cut, readFileSync(backup).subarray(0, 20_000));
    const text = join(folder, 'text.db');
    writeFileSync(text, 'this is not a data file, however long it may be'.repeat(100));
    const empty = join(folder, 'empty.db');
    writeFileSync(empty, '');
    for (const file of [cut, text, empty, join(folder, 'missing.db'), folder]) {
      const { code, stderr } = await service('restore', file, '--yes');
      expect(code, stderr).toBe(1);
      expect(stderr).toContain('Nothing was changed');
    }
    expect(await totalOf(place)).toBe(12);
    expect(readdirSync(join(folder, 'heddle')).filter((name) => /tmp|bak/.test(name))).toEqual([]);
    expect(existsSync(data)).toBe(true);
  });

  it.each([
    [
      'has another schema',
      'delete from schema_version',
      'The data file was made by another version of heddle and has a different schema.',
    ],
    ['lacks a table', 'drop table feedback', 'table feedback is missing.'],
    [
      'has a trigger',
      `create trigger open_all after insert on accounts begin insert into project_grants values (new.name, '*'); end`,
      'it has the trigger "open_all", which heddle does not make.',
    ],
    [
      'has a view in the place of a table',
      "drop table project_grants; create view project_grants as select name as account, '*' as project_id from accounts",
      'it has the view "project_grants", which heddle does not make.',
    ],
    [
      'has a virtual table in the place of a table',
      'drop table costs; create virtual table costs using rtree (id, a, b)',
      'it has the table "costs", the table "costs_rowid", the table "costs_node", which heddle does not make.',
    ],
    [
      'grants a project to an account that does not exist yet',
      "pragma foreign_keys = off; insert into project_grants values ('eve', '*')",
      'FOREIGN KEY constraint failed.',
    ],
  ])('refuse to restore a backup that %s', async (_, sql, reason) => {
    const place = await homeWithData();
    const { folder, service } = place;
    const backup = join(folder, 'backup.db');
    await service('backup', backup);
    await changeFile(backup, sql);
    const before = readFileSync(backup);
    const { code, stderr } = await service('restore', backup, '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain(`${backup} cannot be used as a backup: ${reason} Nothing was changed.`);
    expect(readFileSync(backup).equals(before)).toBe(true);
    expect(await totalOf(place)).toBe(12);
  });

  it('restore no more than the rows of the tables', async () => {
    const place = await homeWithData();
    const { folder, data, service } = place;
    const schema = () => execute(data, 'select type, name, tbl_name, sql from sqlite_master order by type, name');
    const before = await schema();
    const backup = join(folder, 'backup.db');
    await service('backup', backup);
    await changeFile(
      backup,
      `create index foreign_index on accounts (created_at);
      alter table project_grants rename to old;
      create table project_grants (account text, project_id text default '*', note text);
      drop table old`,
    );
    expect((await service('restore', backup, '--yes')).code).toBe(0);
    expect(await totalOf(place)).toBe(12);
    await freeDataFile(data);
    expect(await schema()).toEqual(before);
  });

  it('list the accounts of a backup and their projects before they ask', async () => {
    const { folder, data, service } = await homeWithData();
    const backup = join(folder, 'backup.db');
    await service('add-user', 'ada', 'team/support');
    await service('add-user', 'bob', '--all-projects');
    await service('backup', backup);
    await changeFile(backup, "insert into accounts values ('eve' || char(10) || 'x', 'a', 'b', '')");
    const before = statSync(data).ino;
    expect(await service('restore', backup)).toEqual({
      code: 2,
      stdout: `These accounts of the backup will get access:
ada: team/support
bob: all projects
eve\\u000ax: no project
`,
      stderr: expect.stringContaining('add --yes'),
    });
    expect(statSync(data).ino).toBe(before);
    expect(readdirSync(join(folder, 'heddle')).filter((name) => /tmp|bak/.test(name))).toEqual([]);
  });

  it('replace a damaged data file, and keep it under another name', async () => {
    const place = await homeWithData();
    const { folder, data, service } = place;
    const backup = join(folder, 'backup.db');
    await service('backup', backup);
    await freeDataFile(place.data);
    writeFileSync(data, 'damaged beyond repair, and long enough to be read as a page'.repeat(100));
    const { code, stdout } = await service('restore', backup, '--yes');
    expect(code).toBe(0);
    expect(readFileSync(/is in (\S+);/.exec(stdout)![1]!, 'utf8')).toMatch(/^damaged/);
    expect(await totalOf(place)).toBe(12);
  });

  it('refuse to replace data without --yes in a pipe, and name the program to use for PostgreSQL', async () => {
    const { folder, service, environment } = await homeWithData();
    await service('backup', join(folder, 'a.db'));
    for (const args of [['restore', join(folder, 'a.db')], ['reset']]) {
      expect(await service(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') });
    }
    const postgres = { ...environment, HEDDLE_DATABASE_URL: 'postgres://ada:hush-1@127.0.0.1/heddle' };
    const { code, stderr } = await run(['service', 'backup', join(folder, 'b.db')], postgres);
    expect([code, stderr.includes('hush-1')]).toEqual([1, false]);
    expect(stderr).toContain('Use pg_dump --format=custom to back up and pg_restore to restore: docs/updating.md');
  });
});

describe('heddle service reset', () => {
  it('starts over with the sample project, and keeps the earlier data in another file', async () => {
    const place = await homeWithData();
    await call('create_queue', { name: 'Mine' }, place.environment);
    const { stdout } = await place.service('reset', '--yes');
    expect(stdout).toContain('The earlier data is in ');
    expect(await queueNames(place)).toEqual(['support-triage']);
  });

  it('moves a data file with another schema aside', async () => {
    const place = await homeWithData();
    await changeFile(place.data, 'delete from schema_version');
    expect(await run(['call', 'list_queues'], place.environment)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('run `node dist/heddle.js service reset`'),
    });
    await freeDataFile(place.data);
    const { code, stdout } = await place.service('reset', '--yes');
    expect(code).toBe(0);
    const kept = /is in (\S+);/.exec(stdout)![1]!;
    expect(await execute(kept, 'select * from queue_items')).toHaveLength(12);
    expect(await queueNames(place)).toEqual(['support-triage']);
  });
});

describe('heddle queue list', () => {
  it('prints the queues of the project', async () => {
    const { code, stdout } = await run(['queue', 'list'], emptyHome(temporaryFolder()));
    expect(code).toBe(0);
    expect(JSON.parse(stdout).queues).toMatchObject([{ id: 'support-triage', remaining: 9, total: 12 }]);
  });
});

describe('heddle queue export', () => {
  it('writes judgements and notes, and defuses formulas in CSV only', async () => {
    const { folder, environment } = await homeWithData();
    const file = join(folder, 'rows.csv');
    writeFileSync(file, '\ufeffquestion,answer\r\n"two\r\nlines","say ""hi"", ok"\r\n=HYPERLINK(1),-5\r\n');
    const target = ['--project', 'a/b', '--queue', 'q'];
    expect((await run(['service', 'import', file, ...target], environment)).stdout).toBe('2 added, 0 duplicates\n');
    expect((await run(['service', 'import', file, ...target], environment)).stdout).toBe('0 added, 2 duplicates\n');
    const change = { judgements: { ok: true, why: '@sum(A1)' }, note: '+1' };
    await call('update_queue_items', { project_id: 'a/b', queue_id: 'q', filter: {}, change }, environment);

    const jsonl = await run(['queue', 'export', 'q', '--project', 'a/b', '--values'], environment);
    const rows = jsonl.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows).toHaveLength(6);
    // The judgements of one change are often stored in the same millisecond, which leaves their order open.
    const ofFirstItem = rows.slice(0, 3);
    for (const row of ofFirstItem) {
      expect(row).toMatchObject({
        queue_id: 'q',
        call_op_name: 'import',
        call_values: { 'inputs.question': 'two\r\nlines', 'output.answer': 'say "hi", ok' },
      });
    }
    expect(ofFirstItem).toContainEqual(expect.objectContaining({ field: 'ok', value: true }));
    expect(ofFirstItem).toContainEqual(expect.objectContaining({ field: 'why', value: '@sum(A1)' }));
    expect(ofFirstItem).toContainEqual(expect.objectContaining({ note: '+1' }));

    const out = join(folder, 'out.csv');
    const csv = ['queue', 'export', 'q', '--project', 'a/b', '--values', '--format', 'csv', '--out', out];
    const { code, stdout, stderr } = await run(csv, environment);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain(
      `6 judgements and notes of 2 items: 4 by ${userInfo().username} (heddle), 2 notes. 5 cells `,
    );
    const text = readFileSync(out, 'utf8');
    expect(text.split('\r\n')[0]).toBe(
      '\ufeffproject_id,queue_id,item_id,call_id,call_op_name,call_started_at,annotation_state,field,value,note,annotator,judged_at,call.inputs.question,call.output.answer',
    );
    expect(text).toMatch(/,import,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z,/);
    expect((await run(csv, environment)).stderr).toMatch(new RegExp(`^Replaced ${out}\\.\\n6 judgements`));
    const again = await run(['import', out, '--project', 'a/copy', '--queue', 'q'], environment);
    expect([again.code, again.stdout]).toEqual([0, '2 added, 0 duplicates, 6 judgements or scores\n']);
    expect(text).toContain(`,"two\r\nlines","say ""hi"", ok"\r\n`);
    expect(text).toContain(`,'=HYPERLINK(1),-5\r\n`);
    expect(text).toContain(`,why,'@sum(A1),,`);
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('writes one line for each item with --wide, and takes the name of a queue', async () => {
    const { folder, environment } = await homeWithData();
    const file = join(folder, 'judged.jsonl');
    const call_1 = {
      item_id: 'i-1',
      call_id: 'c-1',
      call_op_name: 'weave:///team/shop/op/reply:YIHR',
      annotation_state: 'completed',
      call_values: { 'inputs.question': 'Q 1?' },
    };
    const given = [
      { annotator: 'ana', field: 'helpful', value: true },
      { annotator: 'ana', note: 'one' },
      { annotator: 'ben', field: 'helpful', value: false },
      { annotator: 'ben', note: '=two' },
      { gold: true, field: 'helpful', value: false, reason: 'It misses it.' },
    ].map((entry) => ({ ...call_1, ...entry, judged_at: '2026-01-02T00:00:00Z' }));
    writeFileSync(file, given.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const imported = await run(['import', file, '--project', 'demo/support', '--queue', 'wide-1'], environment);
    expect(imported.code, imported.stderr).toBe(0);
    await call('update_queue', { queue_id: 'wide-1', name: 'Nurse review' }, environment);
    await call('add_queue_items', { queue_id: 'wide-1', call_ids: ['support-0001'] }, environment);
    const wide = ['queue', 'export', 'nurse review', '--wide'];
    const { stdout, stderr } = await run([...wide, '--format', 'csv'], environment);
    const [header, first, second, end] = stdout.split('\r\n');
    expect(header).toBe(
      'helpful (ana),helpful (ben),"helpful, gold","helpful, reason of gold",note (ana),note (ben),annotation_state,call_started_at,call_op_name,call_id,item_id,queue_id,project_id',
    );
    expect(first).toMatch(
      /^true,false,false,It misses it\.,one,'=two,completed,[^,]*,reply,c-1,[^,]+,wide-1,demo\/support$/,
    );
    expect(second).toMatch(/^,,,,,,unstarted,[^,]*,support\.answer,support-0001,[^,]+,wide-1,demo\/support$/);
    expect(end).toBe('');
    const withValues = (await run([...wide, '--format', 'csv', '--values'], environment)).stdout;
    expect(withValues).toMatch(/^call\.inputs\.question,.*helpful \(ana\),/);
    expect(stderr).toBe(
      '5 judgements and notes of 2 items: 1 by ana, 1 by ben, 1 gold, 2 notes. 1 cell that a spreadsheet would run as a formula got an apostrophe in front, the first in row 2, column note (ben).\n',
    );
    const [row] = (await run([...wide, '--values'], environment)).stdout.split('\n');
    expect(row).toMatch(/^\{"call_values":\{"inputs\.question":"Q 1\?"\},"helpful \(ana\)":true,/);
    const call_op_name = 'weave:///team/shop/op/reply:YIHR';
    expect(JSON.parse(row!)).toMatchObject({ call_op_name, 'helpful (ben)': false, 'note (ben)': '=two' });
    expect((await run([...wide, '--all'], environment)).code).toBe(2);
  });

  it('counts only what it writes, not what was given on an item that was removed', async () => {
    const { environment } = await homeWithData();
    const queue_id = 'support-triage';
    const change = { gold: { helpful: false }, note: 'Short.' };
    await call('update_queue_items', { queue_id, filter: { call_id: 'support-0001' }, change }, environment);
    await call('update_queue', { queue_id, remove_items: ['support-0001'], confirm: true }, environment);
    const { stdout, stderr } = await run(['queue', 'export', queue_id], environment);
    expect([stdout, stderr]).toEqual(['', '0 judgements and notes of 0 items.\n']);
  });

  it.each(['jsonl', 'csv'])(
    "writes gold as nobody's, and an import of the file as %s brings it back",
    async (format) => {
      const { folder, environment } = await homeWithData();
      const gold = { gold: { helpful: false }, reason: 'It misses the question.' };
      const change = { queue_id: 'support-triage', filter: { call_id: 'support-0001' }, change: gold };
      await call('update_queue_items', change, environment);
      const out = join(folder, `judgements.${format}`);
      const exported = await run(['queue', 'export', 'support-triage', '--format', format, '--out', out], environment);
      expect(exported.stderr).toBe('1 judgement or note of 1 item: 1 gold.\n');
      expect(readFileSync(out, 'utf8')).not.toContain('annotator":');
      const imported = await run(['service', 'import', out, '--project', 'a/b', '--queue', 'again'], environment);
      expect(imported.code, imported.stderr).toBe(0);
      const query = { project_id: 'a/b', queue_id: 'again', include_judgements: true, fields: ['gold_reasons'] };
      const { result } = await call('query_queue_items', query, environment);
      expect(result.items).toMatchObject([
        { judgements: {}, gold: { helpful: false }, gold_reasons: { helpful: 'It misses the question.' } },
      ]);
    },
  );

  it('names the nearest queues for an unknown one, and writes no file', async () => {
    const { folder, environment } = await homeWithData();
    const out = join(folder, 'out.jsonl');
    const { code, stderr } = await run(['queue', 'export', 'support-triag', '--out', out], environment);
    expect([code, existsSync(out)]).toEqual([1, false]);
    expect(stderr).toContain('support-triage');
  });
});

describe('heddle service import', () => {
  it('refuses CSV whose quotes do not end', async () => {
    const { folder, environment } = await homeWithData();
    const file = join(folder, 'bad.csv');
    writeFileSync(file, 'a,b\n"1,2\n');
    const { code, stderr } = await run(['service', 'import', file, '--project', 'a/b', '--queue', 'q'], environment);
    expect([code, stderr.includes('is not valid CSV')], stderr).toEqual([1, true]);
  });
});
