import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../src/settings/resolve-settings.ts';
import { noFolders } from '../support/heddle.ts';

const environment = { HEDDLE_DATABASE_URL: 'postgres://heddle@127.0.0.1/heddle', HEDDLE_DATA_DIR: '/data' };
const database = 'postgres://heddle@127.0.0.1/other';

describe('resolveSettings', () => {
  it.each([
    ['the database of the environment', {}, environment.HEDDLE_DATABASE_URL],
    ['a folder that a flag names', { dataDir: '/trial' }, undefined],
    ['a database that a flag names', { dataDir: '/trial', databaseUrl: database }, database],
  ])('takes %s', (_, flags, expected) => {
    expect(resolveSettings({ flags, environment, folders: noFolders }).values.databaseUrl).toBe(expected);
  });
});
