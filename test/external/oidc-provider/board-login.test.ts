import { describe, expect, it } from 'vitest';
import { BoardVisitor } from '../../support/board-visitor.ts';
import { hasChromium, says, startChromium } from '../../support/chromium.ts';
import { call, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { OAuthUser } from '../../support/oauth-user.ts';
import { startServiceCommand } from '../../support/service-process.ts';
import { hasAuthorizationServer, startAuthorizationServer } from '../../support/start-authorization-server.ts';

const secret = 'board-secret';

/** Starts a service whose people log in at an authorization server. */
async function startBoard(issuer: string, settings: Record<string, string> = { HEDDLE_LOGIN_CLIENT_SECRET: secret }) {
  const environment = emptyHome(temporaryFolder(), settings);
  const args = ['--board', '--login-issuer', issuer, '--login-client-id', 'board', '--log-level', 'info'];
  const service = await startServiceCommand(environment, args);
  return { ...service, environment };
}

/** Has a person begin a login in a browser, and log in at the issuer; returns the path to which the issuer sends the browser back. */
async function logInAtIssuer(visitor: BoardVisitor, person: string, query = ''): Promise<string> {
  const begun = await visitor.post(`/board/issuer${query}`, {});
  expect([begun.status, begun.body]).toEqual([200, expect.stringContaining('location')]);
  const user = new OAuthUser(person);
  const address = new URL(JSON.parse(begun.body).location);
  expect(Object.fromEntries(address.searchParams)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    scope: 'openid email',
  });
  user.visited.push(address);
  return `/board/callback?${await user.browse(address.searchParams.get('redirect_uri')!)}`;
}

describe.skipIf(!hasAuthorizationServer)('heddle service start --board --login-issuer', () => {
  it('logs a person in whose verified address, or else subject, is the name of an account', async () => {
    const { issuer } = await startAuthorizationServer();
    const { url, environment, output } = await startBoard(issuer);
    await run(['service', 'add-user', 'ann@example.com', 'team/support'], environment);
    await run(['service', 'add-user', 'ben', 'team/support'], environment);
    for (const [person, account] of [
      ['ann@example.com', 'ann@example.com'],
      ['ben', 'ben'],
    ] as const) {
      const visitor = new BoardVisitor(url);
      expect(JSON.parse((await visitor.post('/board/session', {})).body).has_issuer).toBe(true);
      const back = await logInAtIssuer(visitor, person, '?project=team/support&queue=review&next=https://evil.example');
      expect(visitor.cookies.size).toBe(1);
      const { status, headers } = await visitor.visit(back);
      expect([status, headers.location]).toEqual([303, '/board/?project=team%2Fsupport&queue=review']);
      expect([...visitor.cookies.keys()]).toEqual(['heddle-session']);
      expect(JSON.parse((await visitor.post('/board/session', {})).body).project).toBe('team/support');
      expect(output.stderr).toContain(`logged in`);
      expect(output.stderr).toContain(`account=${account} by=issuer`);
    }
  });

  it.skipIf(!hasChromium)(
    'opens the board in a real browser that the issuer, another site, has sent back',
    async () => {
      const { issuer } = await startAuthorizationServer();
      const { url, environment } = await startBoard(issuer);
      await call('list_queues', {}, environment);
      await run(['service', 'add-user', 'ann@example.com', 'demo/support'], environment);
      const browser = await startChromium();
      const page = await (await browser.newContext({ locale: 'en-GB' })).newPage();
      // Another site than 127.0.0.1, at which the issuer is.
      const board = url.replace('127.0.0.1', 'localhost');
      await page.goto(`${board}/board/?project=demo%2Fsupport&queue=support-triage`);
      await page.getByRole('button', { name: 'Log in with your organization' }).click();
      await page.locator('input[name=login]').fill('ann@example.com');
      await page.locator('input[name=password]').fill('any');
      await page.locator('button[type=submit]').click();
      await page.getByRole('button', { name: 'Continue' }).click();
      await says(page, '9 items to judge.');
      expect(page.url()).toBe(`${board}/board/?project=demo%2Fsupport&queue=support-triage`);
      expect(await page.locator('.account').innerText()).toBe('You are ann@example.com');
    },
  );

  it('refuses a person without an account, also one whose address is not verified, and says so in its log', async () => {
    const { issuer } = await startAuthorizationServer();
    const { url, environment, output } = await startBoard(issuer);
    await run(['service', 'add-user', 'mallory@example.org', '--all-projects'], environment);
    const visitor = new BoardVisitor(url);
    const { status, headers } = await visitor.visit(await logInAtIssuer(visitor, 'mallory@example.org'));
    expect([status, headers.location]).toEqual([303, '/board/login#failed=no-account']);
    expect(visitor.cookies.size).toBe(0);
    expect(output.stderr).toMatch(/warn.*login refused.*the person has no account.*names=none/);
    await visitor.visit(await logInAtIssuer(visitor, 'cleo'));
    expect(output.stderr).toMatch(/warn.*login refused.*the person has no account.*names=cleo/);
  });

  it('refuses a login that another browser has begun, one that is repeated, and one with another state', async () => {
    const { issuer } = await startAuthorizationServer();
    const { url, environment, output } = await startBoard(issuer);
    await run(['service', 'add-user', 'ann@example.com', 'team/support'], environment);
    const attacker = new BoardVisitor(url);
    const back = await logInAtIssuer(attacker, 'ann@example.com');
    const refused = async (visitor: BoardVisitor, path: string): Promise<[string | undefined, boolean]> => {
      const { headers } = await visitor.visit(path);
      return [headers.location, visitor.cookies.has('heddle-session')];
    };
    // The victim follows a link with the attacker's code.
    expect(await refused(new BoardVisitor(url), back)).toEqual(['/board/login#failed=expired', false]);
    const victim = new BoardVisitor(url);
    await logInAtIssuer(victim, 'ann@example.com');
    expect(await refused(victim, back)).toEqual(['/board/login#failed=issuer', false]);
    const changed = new BoardVisitor(url);
    const own = await logInAtIssuer(changed, 'ann@example.com');
    expect(await refused(changed, own.replace(/state=[^&]+/, 'state=other'))).toEqual([
      '/board/login#failed=issuer',
      false,
    ]);
    expect((await attacker.visit(back)).headers.location).toBe('/board/');
    // Its cookie is gone, and so the code is worth nothing.
    attacker.cookies.clear();
    expect(await refused(attacker, back)).toEqual(['/board/login#failed=expired', false]);
    expect(output.stderr.match(/warn.*login refused/g)).toHaveLength(4);
    for (const [, value] of back.matchAll(/(?:code|state)=([^&]+)/g)) expect(output.stderr).not.toContain(value);
    expect(output.stderr).not.toContain(secret);
  });

  it('says in its log what is wrong with the issuer or the client, and works once that is repaired', async () => {
    const server = await startAuthorizationServer();
    await server.pause();
    const { url, environment, output } = await startBoard(server.issuer);
    const visitor = new BoardVisitor(url);
    const { status, body } = await visitor.post('/board/issuer', {});
    expect([status, JSON.parse(body).error]).toEqual([
      503,
      'Service unavailable: the issuer of logins cannot be asked',
    ]);
    expect(output.stderr).toMatch(/error.*the issuer of logins cannot be asked.*ECONNREFUSED/);
    await server.resume();
    await run(['service', 'add-user', 'ann@example.com', 'team/support'], environment);
    expect((await visitor.visit(await logInAtIssuer(visitor, 'ann@example.com'))).headers.location).toBe('/board/');

    const other = await startBoard(server.issuer, { HEDDLE_LOGIN_CLIENT_SECRET: 'another-secret' });
    const stranger = new BoardVisitor(other.url);
    const { headers } = await stranger.visit(await logInAtIssuer(stranger, 'ann@example.com'));
    expect(headers.location).toBe('/board/login#failed=issuer');
    expect(other.output.stderr).toMatch(/warn.*login refused.*the issuer refused the client id or the client secret/);
    expect(other.output.stderr).not.toContain('another-secret');
  });
});
