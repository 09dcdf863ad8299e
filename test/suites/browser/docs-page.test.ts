import { expect, test } from 'vitest';
import { endpoints } from '../../../src/contract/endpoints.ts';
import { startTestService } from '../../support/service-process.ts';
import { chromium, openPage } from './chromium.ts';

test.skipIf(!chromium)('the page of the interface renders in a real browser, without the network', async () => {
  const url = await startTestService();
  const page = await openPage();
  await page.send('Emulation.setDeviceMetricsOverride', {
    width: 1200,
    height: 900,
    deviceScaleFactor: 1,
    mobile: false,
  });
  await page.open(`${url}/docs`);

  expect(await page.evaluate('document.title')).toBe('heddle embedded service');
  expect(await page.evaluate('[...document.querySelectorAll("article")].map((one) => one.id).sort()')).toEqual(
    Object.keys(endpoints).sort(),
  );
  expect(await page.evaluate('document.querySelector("article").getBoundingClientRect().height > 50')).toBe(true);
  // Styles count: a policy that refused them would leave the browser's own.
  expect(await page.evaluate('getComputedStyle(document.querySelector("article")).borderTopStyle')).toBe('solid');

  // Nothing but the page was asked for, and nothing went wrong.
  const urls = page.events('Network.requestWillBeSent').map(({ request }) => request.url as string);
  expect(urls.filter((one) => !one.endsWith('/favicon.ico'))).toEqual([`${url}/docs`]);
  const logged = page.events('Log.entryAdded').map(({ entry }) => entry);
  expect(logged.filter(({ level, url: from }) => level === 'error' && !from?.endsWith('/favicon.ico'))).toEqual([]);
  expect(page.events('Runtime.exceptionThrown')).toEqual([]);

  // Every link inside leads to something that is there.
  expect(
    await page.evaluate(
      '[...document.querySelectorAll(\'a[href^="#"]\')].map((one) => one.getAttribute("href").slice(1)).filter((id) => !document.getElementById(id))',
    ),
  ).toEqual([]);

  // On a telephone it is not wider than the screen.
  await page.send('Emulation.setDeviceMetricsOverride', {
    width: 390,
    height: 800,
    deviceScaleFactor: 1,
    mobile: true,
  });
  expect(await page.evaluate('document.documentElement.scrollWidth <= 390')).toBe(true);

  // In the dark the text is lighter than what is behind it.
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
  expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(255, 255, 255)');
});
