import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BoardVisitor, invitationIn } from '../support/board-visitor.ts';
import { startFakeService } from '../support/fake-service.ts';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { ask, startHttp } from '../support/http-server.ts';
import { addAccount, startServiceCommand } from '../support/service-process.ts';

/** Every path of the board. */
const paths = [
  '/board',
  '/board/',
  '/board/call',
  '/board/callback',
  '/board/invitation',
  '/board/issuer',
  '/board/login',
  '/board/logout',
  '/board/password',
  '/board/session',
];

/** Starts a service with the board, and two items in the queue `review` of team/support. */
async function startBoardService(args: string[] = ['--board'], settings: Record<string, string> = {}) {
  const folder = temporaryFolder();
  const environment = emptyHome(folder, settings);
  const file = join(folder, 'answers.csv');
  writeFileSync(file, 'question;answer\nCan I export?;Yes, as CSV.\nDoes it work offline?;Reading does.\n');
  const target = ['--project', 'team/support', '--queue', 'review', '--field', 'helpful:boolean'];
  expect((await run(['import', file, ...target], environment)).code).toBe(0);
  const service = await startServiceCommand(environment, args);
  const invite = async (...given: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(['service', 'invite', ...given], environment);
    if (code !== 0) throw new Error(stderr);
    return invitationIn(stdout);
  };
  return { ...service, environment, invite };
}

type BoardService = Awaited<ReturnType<typeof startBoardService>>;

/** Returns a browser in which a person has used an invitation to team/support. */
async function invited({ url, invite }: BoardService, name = 'ann'): Promise<BoardVisitor> {
  const visitor = new BoardVisitor(url);
  const { status } = await visitor.post('/board/invitation', { token: await invite(name, 'team/support') });
  expect(status).toBe(200);
  return visitor;
}

const errorOf = ({ body }: { body: string }): string => JSON.parse(body).error;

describe('without --board', () => {
  it('heddle service start serves none of its paths', async () => {
    const { url } = await startServiceCommand();
    for (const path of paths) {
      for (const method of ['GET', 'POST']) {
        const { status, body } = await ask(`${url}${path}`, { method });
        expect([method, path, status, body]).toEqual([method, path, 404, '{"detail":"Not Found"}']);
      }
    }
  });

  it('heddle serve --http serves none of its paths', async () => {
    const { url } = await startHttp();
    for (const path of paths) {
      for (const method of ['GET', 'POST']) {
        const { status, body } = await ask(new URL(path, url), { method });
        expect([method, path, status]).toEqual([method, path, 404]);
        expect(body).toContain('Not found: the endpoint is /mcp');
      }
    }
  });
});

describe('heddle service start --board', () => {
  it('serves the paths of the board beside those of the service', async () => {
    const { url } = await startBoardService();
    const statuses = await Promise.all(
      paths.map(async (path) => (await ask(`${url}${path}`, { method: 'OPTIONS' })).status),
    );
    expect(statuses).toEqual(paths.map(() => 405));
    expect((await ask(`${url}/board/nothing`, { method: 'GET' })).status).toBe(404);
    expect((await ask(`${url}/health`, { method: 'GET' })).status).toBe(200);
  });

  it('lets an invited person judge under the account of the invitation', async () => {
    const service = await startBoardService();
    const { url, invite, environment } = service;
    const token = await invite('ann', 'team/support', '--queue', 'review');
    const visitor = new BoardVisitor(url);
    const used = await visitor.post('/board/invitation', { token });
    expect(JSON.parse(used.body)).toEqual({ location: '/board/?project=team%2Fsupport&queue=review' });
    expect(visitor.setCookies).toEqual([
      expect.stringMatching(/^heddle-session=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    const session = await visitor.post('/board/session?project=team%2Fsupport&queue=review', {});
    expect(JSON.parse(session.body)).toEqual({
      account: 'ann',
      project: 'team/support',
      arguments: { queue_id: 'review' },
    });
    // Without a project in the address, the page is told the first one that the account sees.
    expect(JSON.parse((await visitor.post('/board/session', {})).body)).toMatchObject({ project: 'team/support' });
    const { data } = await visitor.call('review_queue', { queue_id: 'review', limit: 50 });
    expect(data).toMatchObject({ account: 'ann', queue: { total: 2 } });
    const [{ id: item_id }] = data.items;
    const items = [{ item_id, judgements: { helpful: true }, annotation_state: 'completed' }];
    const written = await visitor.call('update_queue_items', {
      queue_id: 'review',
      items,
      as_of: data.as_of,
      by_user: true,
    });
    expect(written.data.items[0]).toMatchObject({ annotation_state: 'completed' });
    const exported = await run(['queue', 'export', 'review', '--project', 'team/support'], environment);
    expect(JSON.parse(exported.stdout)).toMatchObject({ field: 'helpful', value: true, annotator: 'ann' });
  });

  it('refuses an invitation that was used, or is none, and says so in its log', async () => {
    const service = await startBoardService();
    const { url, invite, output } = service;
    const token = await invite('ann', 'team/support');
    // Opening the link uses nothing.
    expect((await new BoardVisitor(url).visit('/board/login')).status).toBe(200);
    expect((await new BoardVisitor(url).post('/board/invitation', { token })).status).toBe(200);
    const again = new BoardVisitor(url);
    const refused = await again.post('/board/invitation', { token });
    expect([refused.status, errorOf(refused), again.setCookies]).toEqual([410, 'This invitation has been used', []]);
    expect(output.stderr).toMatch(/warn.*invitation refused.*reason=used account=ann/);
    const unknown = await again.post('/board/invitation', { token: 'guess' });
    expect([unknown.status, errorOf(unknown)]).toEqual([410, 'This is no invitation that is known here']);
    expect(output.stderr).not.toContain(token);
  });

  it('leads the person who is logged in from a used link to the queue, and warns only about others', async () => {
    const { url, invite, output } = await startBoardService();
    const token = await invite('ann', 'team/support', '--queue', 'review');
    const ann = new BoardVisitor(url);
    expect((await ann.post('/board/invitation', { token })).status).toBe(200);
    expect(JSON.parse((await ann.post('/board/invitation', { token, check: true })).body)).toEqual({
      account: 'ann',
      current: 'ann',
      location: '/board/?project=team%2Fsupport&queue=review',
    });
    expect(output.stderr).not.toContain('warn');
    const other = new BoardVisitor(url);
    expect(JSON.parse((await other.post('/board/invitation', { token, check: true })).body)).toEqual({
      account: 'ann',
      fault: 'This invitation has been used',
    });
    expect(output.stderr).toMatch(/warn.*invitation refused.*reason=used account=ann/);
  });

  it('shows an account its own projects only, also with a stolen cookie, and says so in its log', async () => {
    const service = await startBoardService();
    const { url, environment, output } = service;
    const ann = await invited(service);
    const thief = new BoardVisitor(url);
    for (const [name, value] of ann.cookies) thief.cookies.set(name, value);
    const session = await thief.post('/board/session?project=demo/support', {});
    expect([session.status, errorOf(session)]).toEqual([403, 'Forbidden: your account does not see this project']);
    for (const project of ['demo/support', 'team/nothing']) {
      const { error } = await thief.call('list_queues', {}, project);
      expect(error.code).toBe('forbidden');
    }
    const { error } = await thief.call('list_queues', { project_id: 'demo/support' });
    expect(error.code).toBe('forbidden');
    expect(output.stderr).toMatch(/warn.*request refused.*account=ann tool=list_queues/);
    // A project that is taken back is gone with the next request.
    expect((await thief.call('list_queues', {})).data.queues).toHaveLength(1);
    await run(['service', 'revoke', 'ann', 'team/support'], environment);
    expect((await thief.call('list_queues', {})).error.code).toBe('forbidden');
    expect(errorOf(await thief.post('/board/session', {}))).toBe('Forbidden: your account sees no project');
  });

  it('knows a browser that logged in at another process on the same data', async () => {
    const service = await startBoardService();
    const ann = await invited(service);
    const other = await startServiceCommand(service.environment, ['--board']);
    const moved = new BoardVisitor(other.url);
    for (const [name, value] of ann.cookies) moved.cookies.set(name, value);
    expect((await moved.call('review_queue', { queue_id: 'review', limit: 50 })).data.account).toBe('ann');
    await moved.post('/board/logout', {});
    expect((await ann.post('/board/session', {})).status).toBe(401);
  });

  it('runs nothing for a page that another account than that of the browser had opened', async () => {
    const service = await startBoardService();
    const visitor = await invited(service, 'bea');
    const call = { name: 'list_queues', arguments: {}, account: 'ann' };
    const refused = await visitor.post('/board/call?project=team/support', call);
    expect([refused.status, errorOf(refused)]).toEqual([409, 'This browser is now logged in as bea. Reload the page']);
    expect((await visitor.post('/board/call?project=team/support', { ...call, account: 'bea' })).status).toBe(200);
  });

  it('takes no cookie for the key of the API', async () => {
    const service = await startBoardService();
    const ann = await invited(service);
    const [secret] = ann.cookies.values();
    for (const authorization of [`Bearer ${secret}`, `Basic ${btoa(`ann:${secret}`)}`]) {
      const { status } = await ask(`${service.url}/projects`, { method: 'GET', headers: { authorization } });
      expect(status).toBe(401);
    }
    expect((await ann.visit('/projects')).status).toBe(401);
  });

  it('offers the tools of the board only', async () => {
    const ann = await invited(await startBoardService());
    await expect(ann.call('run_inference', {})).rejects.toThrow('404');
    await expect(ann.call('constructor', {})).rejects.toThrow('404');
  });

  it('refuses forged requests, also one that logs in, and says so in its log', async () => {
    const service = await startBoardService();
    const { url, output, environment } = service;
    const ann = await invited(service);
    const call = { name: 'list_queues', arguments: {} };
    const forged = async (headers: Record<string, string>): Promise<[number, string]> => {
      const answer = await ann.post('/board/call?project=team/support', call, headers);
      return [answer.status, errorOf(answer)];
    };
    const foreign = [403, 'Forbidden: only a page of this board may send this'];
    expect(await forged({ origin: 'https://evil.example' })).toEqual(foreign);
    expect(await forged({ origin: 'null' })).toEqual(foreign);
    expect(await forged({ origin: '' })).toEqual(foreign);
    expect(await forged({ 'sec-fetch-site': 'same-site' })).toEqual(foreign);
    expect((await forged({ 'content-type': 'text/plain' }))[0]).toBe(415);
    expect((await forged({ host: 'evil.example' }))[0]).toBe(403);
    expect(output.stderr).toMatch(/warn.*request of another site refused.*origin="?https:\/\/evil\.example/);
    expect((await ann.visit('/board/logout')).status).toBe(405);
    expect(await forged({})).toEqual([200, undefined]);

    // Whoever makes a victim log in as themselves would see what the victim judges.
    const mallory = await addAccount('mallory', environment);
    const victim = new BoardVisitor(url);
    const login = { name: 'mallory', password: mallory.password };
    expect((await victim.post('/board/password', login, { origin: 'https://evil.example' })).status).toBe(403);
    expect(victim.cookies.size).toBe(0);
  });

  it('refuses a thousand guesses of a password, then also the right one, and names the account in its log', async () => {
    const { url, environment, output } = await startBoardService();
    const { password } = await addAccount('ann', environment);
    const other = await addAccount('bea', environment);
    const guess = async (name: string, attempt: string) => {
      const { status, headers } = await new BoardVisitor(url).post('/board/password', { name, password: attempt });
      return { status, wait: headers['retry-after'] };
    };
    const guesses: { status: number }[] = [];
    for (let batch = 0; batch < 20; batch += 1) {
      const attempts = Array.from({ length: 50 }, (_, n) => guess('ann', `guess-${batch}-${n}`));
      guesses.push(...(await Promise.all(attempts)));
    }
    expect(guesses.filter(({ status }) => status === 401)).toHaveLength(10);
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(990);
    const late = await guess('ann', password);
    expect(late.status).toBe(429);
    expect(Number(late.wait)).toBeGreaterThan(0);
    expect((await guess('bea', other.password)).status).toBe(200);
    expect(output.stderr.match(/warn.*login refused.*account=ann/g)).toHaveLength(10);
    expect(output.stderr.match(/warn.*logins refused for a while.*account=ann/g)).toHaveLength(1);
    expect(output.stderr).not.toContain('guess-');
    // What is typed into the wrong field is not logged.
    expect((await guess('Tr0ub4dor', 'ann')).status).toBe(401);
    expect(output.stderr).not.toContain('Tr0ub4dor');
  });

  it('starts every session with a new secret, and ends the one that the browser had', async () => {
    const service = await startBoardService();
    const { url, environment } = service;
    const { password } = await addAccount('ann', environment);
    const visitor = new BoardVisitor(url);
    visitor.cookies.set('heddle-session', 'chosen-by-an-attacker');
    expect((await visitor.post('/board/password', { name: 'ann', password })).status).toBe(200);
    const first = visitor.cookies.get('heddle-session')!;
    expect(first).toMatch(/^[\w-]{43}$/);
    expect((await visitor.post('/board/password', { name: 'ann', password })).status).toBe(200);
    expect(visitor.cookies.get('heddle-session')).not.toBe(first);
    for (const stale of ['chosen-by-an-attacker', first]) {
      const attacker = new BoardVisitor(url);
      attacker.cookies.set('heddle-session', stale);
      expect((await attacker.post('/board/session', {})).status).toBe(401);
    }
  });

  it('sends nobody to another site after a login', async () => {
    const { url, environment } = await startBoardService();
    const { password } = await addAccount('ann', environment);
    const visitor = new BoardVisitor(url);
    const locationFor = async (query: string): Promise<string> =>
      JSON.parse((await visitor.post(`/board/password?${query}`, { name: 'ann', password })).body).location;
    expect(await locationFor('next=https://evil.example')).toBe('/board/');
    expect(await locationFor('project=//evil.example&queue=javascript:alert(1)')).toBe(
      '/board/?project=%2F%2Fevil.example&queue=javascript%3Aalert%281%29',
    );
    const { status, headers } = await visitor.visit('/board?project=team/support');
    expect([status, headers.location]).toEqual([308, '/board/?project=team/support']);
  });

  it('ends a session by logout, and all of an account by a command', async () => {
    const service = await startBoardService();
    const [one, two] = [await invited(service), await invited(service)];
    const [secret] = one.cookies.values();
    expect((await one.post('/board/logout', {})).status).toBe(200);
    expect(one.setCookies).toEqual(['heddle-session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict']);
    one.cookies.set('heddle-session', secret!);
    const loggedOut = await one.post('/board/session', {});
    expect([loggedOut.status, JSON.parse(loggedOut.body)]).toEqual([
      401,
      { error: 'Unauthorized: log in first', has_issuer: false },
    ]);
    expect((await two.post('/board/session', {})).status).toBe(200);
    const ended = await run(['service', 'end-sessions', 'ann'], service.environment);
    expect(ended.stdout).toBe('ann: 1 session ended, 0 unused invitations withdrawn\n');
    expect((await two.post('/board/call', { name: 'list_queues' })).status).toBe(401);
    const three = await invited(service, 'ben');
    expect((await run(['service', 'end-sessions', '--all'], service.environment)).stdout).toBe(
      'all accounts: 1 session ended, 0 unused invitations withdrawn\n',
    );
    expect((await three.post('/board/session', {})).status).toBe(401);
  });

  it('keeps its cookies to https under its public URL', async () => {
    const service = await startBoardService(['--board', '--public-url', 'https://judge.example.com']);
    const { url, environment } = service;
    const { stdout, stderr } = await run(
      ['service', 'invite', 'ann', 'team/support', '--url', 'https://judge.example.com/'],
      environment,
    );
    expect(stderr).toMatch(
      /^For ann alone: the link works once, until \S+ \S+ UTC, at the service whose data is \/.*\/heddle\.db\.\n$/,
    );
    expect(stdout).toMatch(/^https:\/\/judge\.example\.com\/board\/login#invitation=[\w-]{43}\n$/);
    const token = invitationIn(stdout);
    expect((await new BoardVisitor(url).post('/board/invitation', { token })).status).toBe(403);
    const visitor = new BoardVisitor(url, 'https://judge.example.com');
    expect((await visitor.post('/board/invitation', { token })).status).toBe(200);
    expect(visitor.setCookies).toEqual([
      expect.stringMatching(
        /^__Host-heddle-session=[\w-]{43}; Max-Age=1209600; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
      ),
    ]);
    expect((await visitor.post('/board/session', {})).status).toBe(200);
    const page = await visitor.visit('/board/');
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'sha256-/);
    expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  });

  it.each([
    [['--host', '0.0.0.0'], 'Beyond loopback, --board needs the address under which browsers reach it.'],
    [['--public-url', 'http://judge.example.com'], 'The public URL is http, which would send the cookies'],
    [['--login-issuer', 'https://id.example.com'], 'needs both the issuer and the client id'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await run(
      ['service', 'start', '--port', '0', '--board', ...args],
      emptyHome(temporaryFolder()),
    );
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('heddle serve --http --board', () => {
  it('shows the board of its own service', async () => {
    const environment = emptyHome(temporaryFolder());
    const { url } = await startHttp(['--board'], environment);
    const origin = new URL(url).origin;
    const visitor = new BoardVisitor(origin);
    expect((await visitor.post('/board/session', {})).status).toBe(401);
    const { stdout } = await run(['service', 'invite', 'ann', 'demo/support'], environment);
    expect((await visitor.post('/board/invitation', { token: invitationIn(stdout) })).status).toBe(200);
    const { data } = await visitor.call('list_queues', {}, 'demo/support');
    expect(data.queues).toMatchObject([{ id: 'support-triage' }]);
  });

  it('refuses the service of others, and --board without --http', async () => {
    const { url } = await startFakeService();
    const refused = async (args: string[]) => {
      const { code, stderr } = await run(['serve', ...args], emptyHome(temporaryFolder()));
      return [code, stderr.split('\n')[0]];
    };
    expect(await refused(['--http', '--port', '0', '--board', '--base-url', url])).toEqual([
      2,
      expect.stringContaining('--board shows the queues of the embedded service'),
    ]);
    expect(await refused(['--board'])).toEqual([2, expect.stringContaining('--board has no effect without --http.')]);
  });
});
