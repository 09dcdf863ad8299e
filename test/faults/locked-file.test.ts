import { describe, expect, it } from 'vitest';
import { loadSqlite, openConnection, retryWhileBusy } from '../../src/service/storage/sqlite/sqlite-connection.ts';
import { temporaryFile } from '../support/embedded-service.ts';

describe('openConnection', () => {
  it('never waits inside of SQLite, which would keep the process from everything else', async () => {
    const connection = openConnection(await loadSqlite(), temporaryFile('heddle.db'));
    expect(connection.prepare('pragma busy_timeout').get()).toMatchObject({ timeout: 0 });
    connection.close();
  });
});

describe('retryWhileBusy', () => {
  it('repeats a read until another connection releases its exclusive lock', async () => {
    const file = temporaryFile('heddle.db');
    const open = await loadSqlite();
    const other = openConnection(open, file);
    other.exec('create table t (x); insert into t values (1)');
    const own = openConnection(open, file);
    const statement = own.prepare('select x from t');
    other.exec('begin exclusive');
    let attempts = 0;
    const read = retryWhileBusy(() => {
      attempts += 1;
      if (attempts === 3) other.exec('commit');
      return statement.all();
    });
    expect(await read).toMatchObject([{ x: 1 }]);
    expect(attempts).toBe(3);
    other.close();
    own.close();
  });
});
