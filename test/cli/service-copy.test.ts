import { describe, expect, it } from 'vitest';
import { startTestService, storedIn, withStore } from '../support/embedded-service.ts';
import { fillProject } from '../support/filled-project.ts';
import { run } from '../support/heddle.ts';
import { setUpProfiles } from '../support/profiles.ts';

const source = await startTestService();
const { ada, bob } = await withStore(source.data, async (store) => {
  const basicOf = async (name: string) => `Basic ${btoa(`${name}:${(await store.addUser(name, 'all')).password}`)}`;
  return { ada: await basicOf('ada'), bob: await basicOf('bob') };
});
await fillProject({ service: source, ada, bob }, 'team/support', 100);

describe('heddle service copy', () => {
  it('copies', async () => {
    const target = await startTestService();
    const { password, token } = await withStore(target.data, (store) => store.addUser('mia', 'all'));
    const profile = { baseUrl: target.running.url, project: 'team/support', username: 'mia', password, token };
    const { environment } = setUpProfiles({ cloud: profile }, {});
    const copy = (...args: string[]) => run(['service', 'copy', '--to', 'cloud', '--table', ...args], { ...environment, ...storedIn(source.data) });
    for (const args of [['--dry-run'], [], [], ['--to-project', 'x/y']]) {
    const { code, stdout, stderr } = await copy('--project', 'team/support', ...args);
    console.log(code, stdout, stderr);
    }
    expect(1).toBe(1);
  });
});
