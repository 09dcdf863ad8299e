import { describe, expect, it } from 'vitest';
import { hasChromium, says, startChromium } from '../../support/chromium.ts';
import { freePort } from '../../support/free-port.ts';
import { call, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { addAccount, startServiceCommand } from '../../support/service-process.ts';
import { hasNginx, startBoardProxy, startProgramsProxy, trustingFetch } from '../../support/start-nginx.ts';

describe.skipIf(!hasNginx || !hasChromium)('deploy/nginx/heddle-board.conf', () => {
  it('lets three people judge in their browsers over TLS, and exposes nothing but the board', async () => {
    const environment = emptyHome(temporaryFolder());
    // Each of them is to get items of the few that the sample has.
    await call('update_queue', { queue_id: 'support-triage', reviewers_per_item: 4 }, environment);
    const port = await freePort();
    const publicUrl = `https://localhost:${port}`;
    const service = await startServiceCommand(environment, ['--board', '--public-url', publicUrl]);
    const { origin, plainOrigin } = await startBoardProxy(service.url, port);
    const browser = await startChromium();
    await Promise.all(
      ['ann', 'ben', 'cleo'].map(async (name) => {
        const invitation = ['service', 'invite', name, 'demo/support', '--queue', 'support-triage', '--url', publicUrl];
        const { stdout } = await run(invitation, environment);
        const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' });
        const page = await context.newPage();
        await page.goto(stdout.trim());
        await page.getByRole('button', { name: 'Open the board' }).click();
        await says(page, '9 items to judge.');
        expect(await page.locator('.account').innerText()).toBe(`You are ${name}`);
        await page.keyboard.press('1');
        await page.keyboard.press('Enter');
        await says(page, '1 item written.');
        const [cookie, ...others] = await context.cookies();
        expect(others).toEqual([]);
        expect(cookie).toMatchObject({
          name: '__Host-heddle-session',
          httpOnly: true,
          secure: true,
          sameSite: 'Strict',
          path: '/',
        });
      }),
    );
    const { result } = await call('summarize_queue', { queue_id: 'support-triage', by: ['annotator'] }, environment);
    const judges = result.tables[0].rows.map(([annotator]: [string]) => annotator);
    expect(judges).toEqual(expect.arrayContaining(['ann', 'ben', 'cleo']));
    const fetch = trustingFetch();
    expect((await fetch(`${origin}/`)).url).toBe(`${origin}/board/`);
    const plain = await fetch(`${plainOrigin}/board/login`, { redirect: 'manual' });
    expect([plain.status, plain.headers.get('location')]).toEqual([301, 'https://localhost/board/login']);
    for (const path of ['/health', '/projects', '/openapi.json', '/boards']) {
      expect([path, (await fetch(`${origin}${path}`)).status]).toEqual([path, 404]);
    }
    // Too many passwords from one address are refused before they reach the service.
    const login = { method: 'POST', headers: { 'content-type': 'application/json', origin }, body: '{}' };
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async () => (await fetch(`${origin}/board/password`, login)).status),
    );
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });
});

describe.skipIf(!hasNginx)('deploy/nginx/heddle-programs.conf', () => {
  it('lets programs with an account use the service over TLS, and shows them no board', async () => {
    const environment = emptyHome(temporaryFolder());
    const { username, password } = await addAccount('app', environment);
    const publicUrl = ['--public-url', 'https://judge.example.com'];
    const service = await startServiceCommand(environment, ['--board', ...publicUrl]);
    const { origin } = await startProgramsProxy(service.url);
    const fetch = trustingFetch();
    const status = async (path: string, secret: string): Promise<number> =>
      (await fetch(`${origin}${path}`, { headers: { authorization: `Basic ${btoa(`${username}:${secret}`)}` } }))
        .status;
    expect([await status('/projects', password), await status('/projects', 'guess')]).toEqual([200, 401]);
    for (const path of ['/board', '/board/', '/board/password']) expect(await status(path, password), path).toBe(404);
  });
});
