import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

describe('heddle config', () => {
  it('sets, shows and removes values of a profile, and refuses invalid values and secrets', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder);
    const config = (...args: string[]) => run(['config', ...args], environment);
    expect((await config('set', 'project', 'team/support')).stdout).toContain(
      'project of profile "default" is now team/support.',
    );
    await config('set', 'read_only', 'yes', '--profile', 'careful');
    const file = join(folder, 'heddle', 'config.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      profiles: { default: { project: 'team/support' }, careful: { read_only: true } },
    });
    expect((await config('get', 'project')).stdout).toBe('team/support\n');
    expect((await config('list', '--table')).stdout).toContain('project  team/support\nOther profiles: careful');
    expect(JSON.parse((await config('list')).stdout)).toMatchObject({ values: { project: 'team/support' } });
    const before = readFileSync(file, 'utf8');
    expect(await config('set', 'project', 'support')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('entity/project'),
    });
    expect(await config('set', 'token', 'secret')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('heddle.js login'),
    });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect((await config('unset', 'project')).stdout).toBe('Removed project from profile "default".\n');
    expect(await config('get', 'project')).toMatchObject({ code: 2 });
    expect(existsSync(file)).toBe(true);
  });
});
