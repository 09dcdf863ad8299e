// The review board in Chromium, where Debian's package and test/external/packages/chromium are installed: size, time to the first
// cards, time to each further page of a queue of 1,000 items, memory.
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { said, start, stop } from './lib/processes.mjs';
import { median, shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home, openStdio } from './lib/subjects.mjs';

const items = 1000;
const pageSize = 50;
const openings = 5;
const executable = '/usr/bin/chromium';
const packages = fileURLToPath(new URL('../test/external/packages/chromium/package.json', import.meta.url));

/** Measures the board; without Chromium only its size. */
export async function measureBoard(run, log) {
  const environment = {
    ...cleanEnvironment,
    HEDDLE_DATA_DIR: join(home, 'board'),
    // The default would cut a page of these values.
    HEDDLE_MAX_RESULT_CHARS: '1000000',
  };
  const file = join(home, 'board.jsonl');
  const line = (index) => ({
    call_id: `call-${index}`,
    call_op_name: 'answer',
    call_trace_id: 't',
    call_started_at: '2026-01-01T00:00:00Z',
    display_fields: ['inputs.question', 'output'],
    call: { inputs: { question: `Question ${index}?` }, output: `Answer ${index}. `.repeat(30) },
  });
  writeFileSync(file, Array.from({ length: items }, (_, index) => JSON.stringify(line(index))).join('\n'));
  await run(['service', 'import', file, '--project', 'demo/support', '--queue', 'board'], environment);
  const size = await measureSize(environment);
  const isInstalled = existsSync(executable) && existsSync(join(packages, '../node_modules/playwright-core'));
  if (!isInstalled) {
    log('board: Chromium is not installed; only the size is measured');
    return { size };
  }
  const { chromium } = createRequire(packages)('playwright-core');
  const browser = await chromium.launch({
    executablePath: executable,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
  try {
    const opened = [];
    let pages;
    for (let round = 0; round < openings; round += 1) {
      const { page, child } = await openBoard(browser, environment);
      opened.push(await page.evaluate(firstCards));
      if (round === openings - 1) pages = await measurePages(page);
      await page.close();
      await stop(child);
    }
    log(`board: first cards after ${Math.round(median(opened))} ms`);
    return { size, firstMs: median(opened), ...pages };
  } finally {
    await browser.close();
  }
}

async function measureSize(environment) {
  const connection = await openStdio('heddle', environment);
  const { contents } = await connection.request('resources/read', { uri: 'ui://heddle/review' });
  await connection.close();
  const html = Buffer.from(contents[0].text);
  return { bytes: html.length, gzip: gzipSync(html).length, brotli: brotliCompressSync(html).length };
}

async function openBoard(browser, environment) {
  const child = start([heddle, 'board', '--no-open', 'board'], environment);
  const [url] = await said(child, 'stdout', /http:\S+/);
  const page = await browser.newPage();
  // Runs before the page's own script.
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('article')) return;
      performance.mark('first-cards');
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(url);
  await page.locator('article').first().waitFor();
  return { page, child };
}

const firstCards = "performance.getEntriesByName('first-cards')[0].startTime";

/** Loads every page of the queue; returns the times until each was painted, and the memory at the end. */
async function measurePages(page) {
  const timesMs = [];
  for (let count = 2 * pageSize; count <= items; count += pageSize) {
    timesMs.push(
      await page.evaluate(
        (wanted) =>
          new Promise((resolve) => {
            const startedAt = performance.now();
            const observer = new MutationObserver(() => {
              if (document.querySelectorAll('article').length < wanted) return;
              observer.disconnect();
              requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - startedAt)));
            });
            observer.observe(document.body, { childList: true, subtree: true });
            // The button that loads more is enabled again at the end of the page before.
            const press = () => {
              const button = document.querySelector('main > button');
              if (button.disabled) setTimeout(press, 1);
              else button.click();
            };
            press();
          }),
        count,
      ),
    );
  }
  const heapMb = await page.evaluate('performance.memory.usedJSHeapSize / 2 ** 20');
  return { firstPageMs: median(timesMs.slice(0, 5)), lastPageMs: median(timesMs.slice(-5)), heapMb };
}

/** Renders the measurements as Markdown. */
export function reportBoard({ size, firstMs, firstPageMs, lastPageMs, heapMb }) {
  const kb = (bytes) => shown(bytes / 1000, ' kB');
  const rows = [
    ['size of the page (at most 40 kB)', `${kb(size.bytes)}; gzip ${kb(size.gzip)}, brotli ${kb(size.brotli)}`],
    ...(firstMs === undefined
      ? []
      : [
          ['start of the page to the first cards', shown(firstMs, ' ms')],
          [`next ${pageSize} items, with ${pageSize} to ${6 * pageSize} on the page`, shown(firstPageMs, ' ms')],
          [`next ${pageSize} items, with ${items - 5 * pageSize} to ${items} on the page`, shown(lastPageMs, ' ms')],
          [`memory of the page with ${items} items`, shown(heapMb, ' MB')],
        ]),
  ];
  return `## The review board

\`heddle board\` in Chromium, with a queue of ${items} items in the embedded service. The times include the service and the painting.

${table(['what', 'measured'], rows)}`;
}
