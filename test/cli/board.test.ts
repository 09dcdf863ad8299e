import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startBoard } from '../support/board.ts';
import { execute } from '../support/embedded-service.ts';
import { startFakeService } from '../support/fake-service.ts';
import { call, emptyHome, run, startCommand, temporaryFolder } from '../support/heddle.ts';
import { ask } from '../support/http-server.ts';

/** Starts the board of the sample queue, and returns its origin, its token and a function that sends it a request. */
async function startSample(args: string[] = [], environment = emptyHome(temporaryFolder())) {
  const { url, interrupt } = await startBoard(['support-triage', ...args], environment);
  const { origin, hash } = new URL(url);
  const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(`${origin}${path}`, { headers: { origin, 'content-type': 'application/json', ...headers }, body });
  const token = new URLSearchParams(hash.slice(1)).get('token')!;
  return { origin, token, send, interrupt };
}

/** Starts the board, and returns a function that calls a tool in its session. */
async function startSession(args: string[] = [], environment = emptyHome(temporaryFolder())) {
  const board = await startSample(args, environment);
  const { session, arguments: viewArguments } = JSON.parse((await board.send('/session', { token: board.token })).body);
  const authorization = `Bearer ${session}`;
  const callTool = (name: string, args: object) => board.send('/call', { name, arguments: args }, { authorization });
  return { ...board, authorization, callTool, viewArguments };
}

describe.runIf(process.platform === 'linux')('the program that opens the browser', () => {
  it.each([[['board', 'support-triage']], [['evaluation', 'show', 'Answers', '--open']]])(
    'has no secret among its arguments, nor has any other program, for heddle %j',
    async (args) => {
      const folder = temporaryFolder();
      const seen = join(folder, 'seen');
      const opener = join(folder, 'opener');
      // It passes what it sees on in one step, so that nothing is read before it is whole.
      writeFileSync(
        opener,
        `#!/bin/sh
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' > ${seen}.part
printf '%s' "$*" > ${seen}.arguments
mv ${seen}.part ${seen}
`,
        { mode: 0o755 },
      );
      const environment = emptyHome(folder, { BROWSER: opener });
      await call(
        'create_evaluation',
        { name: 'Answers', dataset: 'weave:///demo/support/object/tickets:latest' },
        environment,
      );
      await call('run_evaluation', { evaluation: 'Answers', model: 'heddle/echo', prompt: 'Hi' }, environment);
      const running = startCommand(args, environment);
      const [address, token] = await running.reports(/http:\/\/127\.0\.0\.1:\d+\/#token=([\w-]{43})/);
      await expect.poll(() => existsSync(seen)).toBe(true);
      const opened = readFileSync(`${seen}.arguments`, 'utf8');
      expect(readFileSync(seen, 'utf8')).toContain(opened);
      expect(readFileSync(seen, 'utf8')).not.toContain(token);
      const page = fileURLToPath(opened);
      expect([statSync(dirname(page)).mode & 0o777, statSync(page).mode & 0o777]).toEqual([0o700, 0o600]);
      expect(readFileSync(page, 'utf8')).toContain(`content="0; url=${address}"`);
      running.signal('SIGINT');
      await running.finished;
      expect(existsSync(dirname(page))).toBe(false);
    },
  );
});

describe('heddle board', () => {
  it('exchanges its token for a session only once, and exits on Ctrl-C', async () => {
    const { token, send, interrupt } = await startSample();
    const first = await send('/session', { token });
    expect(first.status).toBe(200);
    const begun = JSON.parse(first.body);
    expect(begun).toEqual({ session: expect.stringMatching(/^[\w-]{43}$/), arguments: { queue_id: 'support-triage' } });
    expect((await send('/session', { token })).status).toBe(401);
    expect((await send('/session', {}, { authorization: `Bearer ${begun.session}` })).status).toBe(200);
    expect((await send('/call', { name: 'review_queue', arguments: {} })).status).toBe(401);
    expect(await interrupt()).toBe(0);
  });

  it('says on Ctrl-C that it has ended', async () => {
    const command = startCommand(['board', '--no-open', 'support-triage'], emptyHome(temporaryFolder()));
    await command.reports(/until you press Ctrl-C\./);
    command.signal('SIGINT');
    const { code, stdout } = await command.finished;
    expect([code, stdout.slice(-'\n\nThe board has ended.\n'.length)]).toEqual([0, '\n\nThe board has ended.\n']);
  });

  it('serves one page, whose policy names exactly its own script and style', async () => {
    const { origin } = await startSample();
    const { status, headers, body } = await ask(`${origin}/`, { method: 'GET', headers: {} });
    expect(status).toBe(200);
    const policy = String(headers['content-security-policy']);
    const hashOf = (tag: string): string => {
      const [, text = ''] = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(body)!;
      return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    };
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src ${hashOf('script')}`,
      `style-src ${hashOf('style')}`,
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    // Names of namespaces are not loaded.
    expect(body).not.toMatch(/https?:\/\/(?!127|www\.w3\.org\/)/);
  });

  it('refuses other hosts and origins, after which its token is still valid', async () => {
    const { send, token } = await startSample();
    const refused: Record<string, string>[] = [
      { host: 'example.com' },
      { origin: 'http://127.0.0.1:1' },
      { origin: 'http://localhost:80' },
      { origin: 'null' },
    ];
    for (const headers of refused) {
      expect((await send('/session', { token }, headers)).status, JSON.stringify(headers)).toBe(403);
    }
    expect((await send('/session', { token })).status).toBe(200);
  });

  it('refuses requests without an origin, other paths, methods and tools, and invalid bodies', async () => {
    const { origin, send, authorization, callTool } = await startSession();
    const json = { 'content-type': 'application/json', authorization };
    expect((await ask(`${origin}/call`, { headers: json, body: '{}' })).status).toBe(403);
    expect((await ask(`${origin}/call`, { method: 'GET', headers: { authorization } })).status).toBe(405);
    expect((await ask(`${origin}/mcp`, { headers: json, body: '{}' })).status).toBe(404);
    expect((await send('/call', '[', { authorization })).status).toBe(400);
    expect((await send('/call', 'null', { authorization })).status).toBe(400);
    expect((await send('/call', '[]', { authorization })).status).toBe(404);
    expect((await callTool('run_inference', { model: 'heddle/echo' })).status).toBe(404);
    expect((await callTool('create_queue', { name: 'x' })).status).toBe(404);
  });

  it('makes the first call of the page in advance, and uses the result only once', async () => {
    const service = await startFakeService();
    const { callTool, viewArguments } = await startSession([], emptyHome(temporaryFolder(), service.environment));
    const claimed = (): number => service.requests.filter(({ path }) => path.endsWith('/claims')).length;
    await expect.poll(claimed).toBe(1);
    // The arguments of the page's first call.
    const args = { ...viewArguments, filter: {}, n: 20, minutes: 15, prolong: true, by_user: true };
    const first = JSON.parse((await callTool('claim_queue_items', args)).body);
    expect(first.data.items).toHaveLength(1);
    expect(claimed()).toBe(1);
    await callTool('claim_queue_items', args);
    expect(claimed()).toBe(2);
  });

  it("stores judgements as the account's own, apart from those of an agent", async () => {
    const { callTool } = await startSession();
    const queue_id = 'support-triage';
    const review = JSON.parse((await callTool('review_queue', { queue_id, limit: 20 })).body).data;
    const items = [{ item_id: review.items[0].id, judgements: { helpful: true } }];
    await callTool('update_queue_items', { queue_id, items: [{ ...items[0], judgements: { helpful: false } }] });
    const written = JSON.parse((await callTool('update_queue_items', { queue_id, items, by_user: true })).body);
    expect(written.data.counts).toEqual({ done: 1 });
    const again = JSON.parse((await callTool('review_queue', { queue_id, limit: 20 })).body).data;
    expect(again.items[0].judgements).toEqual({ helpful: true });
    const args = { queue_id, filter: { id: review.items[0].id }, include_judgements: true };
    const read = JSON.parse((await callTool('query_queue_items', args)).body).data;
    expect(read.items[0].judgements).toEqual({
      [review.account]: { helpful: true },
      [`${review.account} (heddle)`]: { helpful: false },
    });
  });

  it('writes nothing in read-only mode', async () => {
    const { callTool } = await startSession(['--read-only']);
    const review = JSON.parse((await callTool('review_queue', { queue_id: 'support-triage' })).body).data;
    expect(review.can_write).toBe(false);
    expect((await callTool('update_queue_items', { queue_id: 'support-triage', items: [] })).status).toBe(404);
  });

  it('names the tool that it needs when that tool is switched off', async () => {
    const finished = await run(['board', '--tools', 'inference'], emptyHome(temporaryFolder()));
    expect(finished).toMatchObject({ code: 2, stdout: '' });
    expect(finished.stderr).toContain('the board needs the tool review_queue');
  });

  it('prints its address when no browser can be started', async () => {
    const environment = emptyHome(temporaryFolder(), { BROWSER: '/none/browser' });
    const { url } = await startBoard([], environment, []);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/);
  });
});

describe('heddle board with the name of a queue', () => {
  it('opens the queue with this name, whatever its case', async () => {
    const environment = emptyHome(temporaryFolder());
    const { queue_id } = (await call('create_queue', { name: 'Nurse review' }, environment)).result;
    const { url, interrupt } = await startBoard(['nurse Review'], environment);
    const { origin, hash } = new URL(url);
    const token = new URLSearchParams(hash.slice(1)).get('token')!;
    const { body } = await ask(`${origin}/session`, {
      headers: { origin, 'content-type': 'application/json' },
      body: { token },
    });
    expect(JSON.parse(body).arguments).toEqual({ queue_id });
    expect(await interrupt()).toBe(0);
  });

  it('refuses a project that does not exist', async () => {
    const finished = await run(['board', '--no-open', '--project', 'demo/suport'], emptyHome(temporaryFolder()));
    expect(finished).toMatchObject({ code: 1, stdout: '' });
    expect(finished.stderr).toContain('There is no project demo/suport.\nThe nearest projects are demo/support.');
  });

  it('shows no page of results of a run that does not exist', async () => {
    const { code, stdout, stderr } = await run(['evaluation', 'show', 'nope', '--open'], emptyHome(temporaryFolder()));
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('has no run "nope"')]);
  });

  it('asks whether the nearest name was meant, and opens nothing', async () => {
    const environment = emptyHome(temporaryFolder());
    await call('create_queue', { name: 'Nurse review' }, environment);
    const finished = await run(['board', '--no-open', 'Nurse reveiw'], environment);
    expect(finished).toMatchObject({ code: 1, stdout: '' });
    expect(finished.stderr).toContain('Project demo/support has no queue "Nurse reveiw".');
    expect(finished.stderr).toContain('Did you mean "Nurse review"?');
  });

  it('names the ids when several queues have the name', async () => {
    const environment = emptyHome(temporaryFolder());
    await call('create_queue', { name: 'Twice' }, environment);
    const other = await call('create_queue', { name: 'Once' }, environment);
    // The tools make no second queue of a name, but other programs do.
    const data = join(environment.XDG_DATA_HOME!, 'heddle', 'heddle.db');
    await execute(data, `update queues set name = 'Twice' where id = '${other.result.queue_id}'`);
    const finished = await run(['board', '--no-open', 'twice'], environment);
    expect(finished.code).toBe(1);
    expect(finished.stderr).toContain('Project demo/support has 2 queues named "twice".');
    expect(finished.stderr).toMatch(/That is the name of the queue with the id \S+, and of \S+: pass the id\./);
  });
});
