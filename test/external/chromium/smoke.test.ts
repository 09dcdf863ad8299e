import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { axeScript, startChatPage, startChromium } from '../../support/chromium.ts';
import { startHttp } from '../../support/http-process.ts';

it('opens', async () => {
  const browser = await startChromium();
  const chatUrl = await startChatPage();
  const { url } = await startHttp();
  const context = await browser.newContext({ viewport: { width: 720, height: 900 } });
  const page = await context.newPage();
  page.on('console', (m: any) => console.log('console', m.text()));
  page.on('pageerror', (m: any) => console.log('pageerror', m));
  await page.goto(chatUrl);
  await page.waitForFunction('window.chat');
  console.log(await page.evaluate(`chat.connect(${JSON.stringify(url)}, 'auto')`));
  const opened = await page.evaluate(
    `chat.open('review_queue', {queue_id: 'support-triage'}, {hostContext: {theme: 'light'}})`,
  );
  console.log(opened.listed, opened.mimeType);
  const frame = page.frames()[1]!;
  await frame.getByText(/items shown/).waitFor({ timeout: 5000 });
  await page.screenshot({ path: '/tmp/b1.png', fullPage: true });
  await frame.locator('article').first().focus();
  for (const key of ['1', '2', '1', 's']) await page.keyboard.press(key);
  await page.screenshot({ path: '/tmp/b2.png', fullPage: true });
  await page.keyboard.press('Enter');
  await frame.getByText(/written\./).waitFor({ timeout: 5000 });
  await page.screenshot({ path: '/tmp/b3.png', fullPage: true });
  console.log(await page.evaluate('JSON.stringify([chat.told, chat.calls, chat.sizes.length])'));
  await frame.evaluate(readFileSync(axeScript(), 'utf8'));
  const found = await frame.evaluate('axe.run()');
  console.log(
    JSON.stringify(
      found.violations.map((v: any) => [v.id, v.help, v.nodes.map((n: any) => n.html).slice(0, 3)]),
      null,
      1,
    ),
  );
  await page.emulateMedia({ colorScheme: 'dark' });
}, 60000);
