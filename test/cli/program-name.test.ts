import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { programName, withInvocation } from '../../src/cli/invocation.ts';
import { command, emptyHome, inInvocation, run, startCommand, temporaryFolder } from '../support/heddle.ts';
import { ask, olderRequest, startHttp } from '../support/http-server.ts';
import { LineClient } from '../support/line-client.ts';

const showBoard = { name: 'review_queue', arguments: { queue_id: 'support-triage' } };
const boardCommand = /or run `([^`]+)`/;

describe('the name of the program in commands for the user', () => {
  it.each([
    [command, 'node dist/heddle.js', `node ${command}`],
    ['/opt/my tools/dist/heddle.js', "node '/opt/my tools/dist/heddle.js'", "node '/opt/my tools/dist/heddle.js'"],
    ['/usr/bin/heddle', 'heddle', 'heddle'],
    ['/home/ada/.heddle/bin/heddle', '/home/ada/.heddle/bin/heddle', '/home/ada/.heddle/bin/heddle'],
    ['/lib/node_modules/heddle/dist/heddle.js', 'heddle', 'node /lib/node_modules/heddle/dist/heddle.js'],
  ])('of %s is %s here and %s anywhere', (script, here, anywhere) => {
    inInvocation({ PATH: '/usr/bin:/bin' }, (given) =>
      withInvocation({ ...given, script }, () => {
        expect([programName(), programName(true)]).toEqual([here, anywhere]);
      }),
    );
  });

  it('is the whole path in results and errors of a server on stdio', async () => {
    const client = new LineClient(temporaryFolder(), {}, (environment) => {
      const stdin = new PassThrough();
      const server = startCommand(['serve'], environment, stdin, '/clone/dist/heddle.js');
      return { ...server, stdin, ended: server.finished.then(({ code }) => code) };
    });
    await client.initialize();
    const { result } = await client.ask({ id: 1, method: 'tools/call', params: showBoard });
    const [, shown] = boardCommand.exec(JSON.stringify(result))!;
    expect(shown).toBe('node /clone/dist/heddle.js board support-triage');
    const importing = { name: 'create_queue', arguments: { name: 'Rows', file: 'rows.csv' } };
    expect(JSON.stringify(await client.ask({ id: 2, method: 'tools/call', params: importing }))).toContain(
      'the user can run `node /clone/dist/heddle.js import FILE --queue NAME`',
    );
    expect(await client.end()).toBe(0);
  });

  it('is the whole path in hints about credentials', async () => {
    const environment = { WF_TRACE_SERVER_URL: 'http://127.0.0.1:9', HEDDLE_PROJECT: 'a/b' };
    const client = new LineClient(temporaryFolder(), environment);
    await client.initialize();
    const { result } = await client.ask({
      id: 1,
      method: 'tools/call',
      params: { name: 'list_queues', arguments: {} },
    });
    expect(JSON.stringify(result)).toContain(`or run \`node ${command} login\` in a terminal`);
    expect(await client.end()).toBe(0);
  });

  it('is heddle on a server over HTTP, whose readers have no path of its machine', async () => {
    const { url } = await startHttp();
    const { body } = await ask(url, olderRequest('tools/call', showBoard));
    const [, shown] = boardCommand.exec(body)!;
    expect(shown).toBe('heddle board support-triage');
  });

  it('is the one that was typed in the commands that a command prints', async () => {
    const environment = emptyHome(temporaryFolder());
    expect((await run(['tools', '--table'], environment)).stdout).toContain(
      '`node dist/heddle.js tools TOOL` describes a tool with its arguments, `node dist/heddle.js call TOOL` calls it.',
    );
  });
});
