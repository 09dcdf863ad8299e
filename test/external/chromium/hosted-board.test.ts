import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../../src/core/http/listen.ts';
import {
  accessibilityFindings,
  type Browser,
  hasChromium,
  type Page,
  says,
  startChromium,
} from '../../support/chromium.ts';
import { call, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { onEnd } from '../../support/on-end.ts';
import { addAccount, startServiceCommand } from '../../support/service-process.ts';

let browser: Browser;

/** Opens a window of another person's browser, which is closed at the end of the test. */
async function openBrowser(): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 800, height: 900 }, locale: 'en-GB' });
  onEnd(() => context.close());
  return context.newPage();
}

/** Starts a service with the board on the sample project. */
async function startSample() {
  const environment = emptyHome(temporaryFolder());
  // Creates the sample project.
  await call('list_queues', {}, environment);
  const { url, output } = await startServiceCommand(environment, ['--board']);
  const invite = async (name: string): Promise<string> => {
    const invitation = ['service', 'invite', name, 'demo/support', '--queue', 'support-triage', '--url', url];
    return (await run(invitation, environment)).stdout.trim();
  };
  return { url, environment, output, invite };
}

describe.skipIf(!hasChromium)('heddle service start --board in a browser', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('lets an invited person judge, log out, and not use the link again', async () => {
    const { url, environment, invite } = await startSample();
    const link = await invite('ann');
    const page = await openBrowser();
    await page.goto(link);
    // The address no longer has the secret, but the tab keeps it.
    await page.reload();
    await page.getByText('You are invited to judge as ann.').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(page.url()).toBe(`${url}/board/login`);
    await page.getByRole('button', { name: 'Open the board' }).click();
    await says(page, '9 items to judge.');
    expect(await page.locator('.account').innerText()).toBe('You are ann');
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.keyboard.press('1');
    await page.keyboard.press('Enter');
    await says(page, '1 item written.');
    await page.reload();
    await says(page, '8 items to judge');
    const exported = await run(['queue', 'export', 'support-triage'], environment);
    expect(exported.stdout).toMatch(/"field":"helpful","value":true,"annotator":"ann"/);

    const other = await openBrowser();
    await other.goto(link);
    await says(other, 'This invitation has been used. Log in below, or ask for a new link.');
    expect(await other.getByRole('button', { name: 'Open the board' }).isVisible()).toBe(false);
    // Where the person is logged in, the link still leads to the board.
    await page.goto(link);
    await says(page, '8 items to judge');

    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('The link that brought you here works only once.').waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Log out now' }).click();
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await page.goto(`${url}/board/`);
    await says(page, 'If an invitation brought you here before, ask whoever sent it for a new link: each works once.');
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    expect(page.url()).toBe(`${url}/board/login`);
  });

  it('lets a person log in with a password, to the place that the address names', async () => {
    const { url, environment } = await startSample();
    const { password } = await addAccount('bea', environment);
    const page = await openBrowser();
    await page.goto(`${url}/board/?project=demo%2Fsupport&queue=support-triage`);
    const login = page.getByRole('button', { name: 'Log in' });
    await login.waitFor();
    expect(await page.locator('.brand').innerText()).toBe('heddle');
    expect(
      await page.evaluate("getComputedStyle(document.querySelector('.brand'), '::before').backgroundImage"),
    ).toMatch(/^url\("data:image\/svg/);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.locator('input[name=name]').fill('bea');
    await page.locator('input[name=password]').fill('wrong');
    await login.click();
    await says(page, 'The name or the password is wrong.');
    await page.locator('input[name=password]').fill(password);
    await login.click();
    await says(page, '9 items to judge.');
    expect(await page.locator('h1').innerText()).toBe('support-triage');
  });

  it('lets no other site act with the cookie of a person who is logged in', async () => {
    const { url, output, invite } = await startSample();
    const page = await openBrowser();
    await page.goto(await invite('ann'));
    await page.getByRole('button', { name: 'Open the board' }).click();
    await says(page, '9 items to judge.');
    // The other site has the same host, so that it is the board and not the browser that refuses it.
    const form = `<form method="post" enctype="text/plain" action="${url}/board/logout"><button name='{"a":"' value='"}'>Win`;
    const other = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html>${form}</button></form>`);
    });
    onEnd(() => void other.close());
    await page.goto(await listen(other, 0, '127.0.0.1'));
    const call = `fetch('${url}/board/logout', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' })`;
    // The answer is kept from the other site, too.
    expect(await page.evaluate(`${call}.then(() => 'read', () => 'kept')`)).toBe('kept');
    await page.getByRole('button', { name: 'Win' }).click();
    await page.getByText('only a page of this board may send this').waitFor();
    expect(output.stderr.match(/warn.*request of another site refused/g)).toHaveLength(2);
    await page.goto(`${url}/board/`);
    await says(page, '9 items to judge.');
  });

  it('goes on in a page that was open when the session ended, with what was decided', async () => {
    const { url, environment, invite } = await startSample();
    const context = await browser.newContext({ viewport: { width: 800, height: 900 }, locale: 'en-GB' });
    onEnd(() => context.close());
    const page = await context.newPage();
    await page.goto(await invite('ann'));
    await page.getByRole('button', { name: 'Open the board' }).click();
    await says(page, '9 items to judge.');
    await page.keyboard.press('1');
    await run(['service', 'end-sessions', 'ann'], environment);
    await page.keyboard.press('Enter');
    await says(
      page,
      '0 items written. You are logged out. Open the board in another tab and log in, then try again here.',
    );
    const second = await context.newPage();
    await second.goto(await invite('ann'));
    await second.getByRole('button', { name: 'Open the board' }).click();
    await says(second, 'Restored what you decided about 1 item and did not write.');
    expect(second.url()).toBe(`${url}/board/?project=demo%2Fsupport&queue=support-triage`);
    await page.keyboard.press('Enter');
    await says(page, '1 item written.');
  });

  it('shows a person of several projects the others', async () => {
    const { url, environment, invite } = await startSample();
    const page = await openBrowser();
    await page.goto(await invite('ann'));
    await page.getByRole('button', { name: 'Open the board' }).click();
    await says(page, '9 items to judge.');
    await call('create_queue', { name: 'more', project_id: 'team/other' }, environment);
    await run(['service', 'grant', 'ann', 'team/other'], environment);
    await page.goto(`${url}/board/`);
    await page.locator('a').filter({ hasText: 'team/other' }).click();
    await page.locator('h1').filter({ hasText: 'more' }).waitFor();
    expect(page.url()).toBe(`${url}/board/?project=team%2Fother`);
    // In place of the queues of a project that the person may not see, the page says what to do.
    await page.goto(`${url}/board/?project=team/secret`);
    await page.getByRole('heading', { name: 'You do not see this project' }).waitFor();
    expect(await page.locator('.panel').innerText()).toContain(
      'Ask whoever sent you the address to give your account access, or go to your own project.',
    );
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('link', { name: 'go to your own project' }).click();
    await says(page, '9 items to judge.');
  });
});
