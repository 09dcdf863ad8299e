import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, withStore } from '../support/embedded-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

const environment = emptyHome(temporaryFolder());
const list = ['queue', 'list', '--table'];
beforeAll(async () => {
  const row = 'question,answer\nWhy?,Because.\n';
  await run(['import', '-', '--queue', 'answers', '--project', 'team/shop'], environment, row);
  await run(['import', '-', '--queue', 'gone', '--project', 'team/empty'], environment, row);
  await run(['queue', 'delete', 'gone', '--yes', '--project', 'team/empty'], environment);
});

describe('what commands say to people', () => {
  it('says that a project has no queues yet', async () => {
    const { stdout } = await run([...list, '--project', 'team/empty'], environment);
    expect(stdout).toBe(
      'Project team/empty has no queues yet: create_queue makes one, and so does `node dist/heddle.js import FILE --project team/empty` in a terminal.\nOther projects: demo/support, team/shop.\n',
    );
  });

  it('names the project that has the queue, and the option for it', async () => {
    expect(await run(['queue', 'export', 'support-triage', '--project', 'team/shop'], environment)).toMatchObject({
      code: 1,
      stderr:
        'heddle: Project team/shop has no queue "support-triage".\nProject demo/support has a queue of this name: add --project demo/support.\n',
    });
  });

  it('names the project that the service refuses, where it comes from, and the nearest', async () => {
    const service = await startTestService({ sample: true });
    const { password, token } = await withStore(service.data, (store) => store.addUser('ada', ['demo/support']));
    const account = {
      HEDDLE_BASE_URL: service.running.url,
      ...{ HEDDLE_USERNAME: 'ada', HEDDLE_PASSWORD: password, HEDDLE_TOKEN: token, HEDDLE_PROJECT: 'demo/suport' },
    };
    const hint =
      'The project is demo/suport, from HEDDLE_PROJECT. The nearest projects that this account sees are demo/support.';
    for (const args of [list, ['queue', 'export', 'x']]) {
      const { code, stderr } = await run(args, { ...environment, ...account });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`\n${hint}`)]);
    }
  });

  it('names options and variables where a command has no project or no key', async () => {
    const weave = { ...environment, WF_TRACE_SERVER_URL: 'http://127.0.0.1:9' };
    expect((await run(list, weave)).stderr).toBe(
      `heddle: No project: the call has no project_id, and no project is configured.
Add --project entity/project, or run \`node dist/heddle.js config set project entity/project\` once for all commands. (invalid_arguments)
`,
    );
    expect((await run([...list, '--project', 'a/b'], weave)).stderr).toBe(
      `heddle: There is no API key for http://127.0.0.1:9.
Set WANDB_API_KEY for this server, or run \`node dist/heddle.js login\` in a terminal, and then run the command again. (credentials_missing)
`,
    );
  });
});
