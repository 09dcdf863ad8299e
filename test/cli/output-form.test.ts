import { beforeAll, describe, expect, it } from 'vitest';
import { emptyHome, run, standIn, temporaryFolder } from '../support/heddle.ts';

const environment = emptyHome(temporaryFolder());
beforeAll(async () => {
  await run(['call', 'list_queues'], environment);
});

describe('heddle in a pipe', () => {
  it.each([
    ['call list_queues', '1 queue.'],
    ['tools', 'list_queues         List queues'],
    ['tools list_queues', 'Arguments (* required):'],
    ['status', 'Service: embedded'],
    ['doctor', 'Nothing failed.'],
    ['config list', 'It has no values'],
    ['service list', 'support-triage'],
    ['service list-users', ''],
  ])('prints the result of `heddle %s` as JSON, or in readable form with --table', async (line, shown) => {
    const args = line.split(' ');
    const json = await run(args, environment, '', standIn);
    const table = await run([...args, '--table'], environment, '', standIn);
    expect([json.code, typeof JSON.parse(json.stdout)]).toEqual([0, 'object']);
    expect(table.code).toBe(0);
    expect(table.stdout).toContain(shown);
    expect(() => JSON.parse(table.stdout)).toThrow();
  });

  it('names commands in errors for people, and tools in those for agents', async () => {
    const args = ['evaluation', 'list', 'nope'];
    expect((await run([...args, '--table'], environment, '', standIn)).stderr).toBe(
      `heddle: There is no evaluation "nope" in project demo/support.
The project has no evaluation. Create one with \`heddle evaluation run --config FILE\`.
`,
    );
    const { hint } = JSON.parse((await run([...args, '--json'], environment, '', standIn)).stderr);
    expect(hint).toBe('The project has no evaluation. Create one with create_evaluation.');
  });

  it('names the objects that are nearest, and gives agents their references', async () => {
    const args = ['call', 'create_evaluation', '{"name":"x","dataset":"tickts","scorers":["brief"]}'];
    const table = await run([...args, '--table'], environment, '', standIn);
    expect(table.stderr).toContain('\nThe nearest are tickets. (not_found)\n');
    const { hint } = JSON.parse((await run([...args, '--json'], environment, '', standIn)).stderr);
    expect(hint).toMatch(/^The nearest are weave:\/\/\/demo\/support\/object\/tickets:\w{43}\.$/);
  });

  it('lists all projects, also with a project in the settings', async () => {
    const listing = await run(['service', 'list'], { ...environment, HEDDLE_PROJECT: 'team/other' }, '', standIn);
    expect(JSON.parse(listing.stdout)).toMatchObject([{ project_id: 'demo/support' }]);
    const one = await run(['service', 'list', '--project', 'team/other'], environment, '', standIn);
    expect([one.code, one.stdout]).toEqual([1, '']);
    expect(one.stderr).toContain('There is no project team/other.');
  });

  it('explains in the help when it prints JSON', async () => {
    const { stdout } = await run(['--help'], emptyHome(temporaryFolder()));
    expect(stdout).toContain('for people on a terminal, and as JSON in a pipe or a file; --json and --table choose.');
  });
});
