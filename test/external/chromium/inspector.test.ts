import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Browser, type Frame, hasChromium, type Page, says, startChromium } from '../../support/chromium.ts';
import { freePort } from '../../support/free-port.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { startHttp } from '../../support/http-server.ts';
import { onEnd } from '../../support/on-end.ts';
import { installedPath, newNode } from '../../support/outside-programs.ts';

const inspector = installedPath('mcp', '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const node = newNode();
const token = 'inspector-token';

let browser: Browser;

/** Starts the Inspector's web client, and returns its URL. It ends with the test. */
async function startInspector(): Promise<string> {
  const [port, sandboxPort] = [await freePort(), await freePort()];
  const child = spawn(node!, [inspector!, '--web'], {
    env: emptyHome(temporaryFolder(), {
      HOST: '127.0.0.1',
      CLIENT_PORT: String(port),
      MCP_SANDBOX_PORT: String(sandboxPort),
      MCP_AUTO_OPEN_ENABLED: 'false',
      MCP_INSPECTOR_API_TOKEN: token,
    }),
    detached: true,
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  onEnd(async () => {
    // The launcher starts a server of its own.
    process.kill(-child.pid!, 'SIGKILL');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(url).then(
      (response) => response.ok,
      () => false,
    );
  await expect.poll(answers, { interval: 200 }).toBe(true);
  return url;
}

/** Waits for the frame that has the board; the Inspector puts it into a frame of another origin. */
async function boardIn(page: Page): Promise<Frame> {
  const find = async (): Promise<Frame | undefined> => {
    for (const frame of page.frames()) {
      if (
        (await frame
          .locator('#board')
          .count()
          .catch(() => 0)) > 0
      )
        return frame;
    }
    return undefined;
  };
  await expect.poll(find, { interval: 200 }).toBeDefined();
  return (await find())!;
}

describe.skipIf(!hasChromium || !inspector || !node)('the review board in the web client of the Inspector', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('opens, judges and writes', async () => {
    const [{ url: server }, url] = await Promise.all([startHttp(), startInspector()]);
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    onEnd(() => context.close());
    const page = await context.newPage();
    const args = Buffer.from(JSON.stringify({ queue_id: 'support-triage' })).toString('base64url');
    const query = new URLSearchParams({ serverUrl: server, transport: 'http', autoConnect: token, appArgs: args });
    await page.goto(`${url}/?${query}&openApp=review_queue&MCP_INSPECTOR_API_TOKEN=${token}`);
    await page.locator('[data-testid=open-app]').click();
    const board = await boardIn(page);
    await says(board, '9 items to judge.');
    await board.locator('article').first().focus();
    await page.keyboard.press('1');
    await page.keyboard.press('2');
    await page.keyboard.press('Enter');
    await says(board, '2 items written.');
    expect(await board.locator('.progress').innerText()).toBe('5 of 12');
  });
});
