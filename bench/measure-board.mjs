// The Views in Chromium, where Debian's package and test/external/packages are installed: size, and time until the first
// items are painted; of the review board also the longest frame while its items are judged by keys, and memory.
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { said, start, stop } from './lib/processes.mjs';
import { median, shown, table } from './lib/statistics.mjs';
import { cleanEnvironment, heddle, home, openStdio } from './lib/subjects.mjs';

const items = 1000;
/** Items that are judged by keys, on several pages. */
const judged = 300;
const openings = 5;
/** Rows of the evaluation whose two runs are shown. */
const evaluationRows = 500;
const project = 'demo/support';
const executable = '/usr/bin/chromium';
const playwright = fileURLToPath(new URL('../test/external/packages/node_modules/playwright-core', import.meta.url));

/** Measures the Views; without Chromium only their sizes. */
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
  await run(
    ['service', 'import', file, '--project', project, '--queue', 'board', '--field', 'helpful:boolean'],
    environment,
  );
  const sizes = {
    review: await measureSize('review', environment),
    evaluation: await measureSize('evaluation', environment),
  };
  const isInstalled = existsSync(executable) && existsSync(playwright);
  if (!isInstalled) {
    log('board: Chromium is not installed; only the sizes are measured');
    return { sizes };
  }
  const { chromium } = createRequire(import.meta.url)(playwright);
  const browser = await chromium.launch({
    executablePath: executable,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
  try {
    const review = { started: [], running: [] };
    let judging;
    for (let round = 0; round < openings; round += 1) {
      const { page, child } = await openView(browser, ['board', '--no-open', 'board'], environment);
      review.started.push(await paintedAfter(page));
      await page.reload();
      review.running.push(await paintedAfter(page));
      if (round === openings - 1) judging = await measureJudging(page);
      await page.close();
      await stop(child);
    }
    const runs = await makeRuns(run, environment);
    const evaluation = { started: [], running: [] };
    for (let round = 0; round < openings; round += 1) {
      const { page, child } = await openView(browser, ['evaluation', 'compare', ...runs, '--open'], environment);
      evaluation.started.push(await paintedAfter(page));
      await page.reload();
      evaluation.running.push(await paintedAfter(page));
      await page.close();
      await stop(child);
    }
    const times = { review: mediansOf(review), evaluation: mediansOf(evaluation) };
    log(`board: first cards painted after ${Math.round(times.review.started.paintedMs)} ms`);
    return { sizes, times, judging };
  } finally {
    await browser.close();
  }
}

function mediansOf({ started, running }) {
  const of = (all) => ({
    paintedMs: median(all.map(({ paintedMs }) => paintedMs)),
    sinceResultMs: median(all.map(({ sinceResultMs }) => sinceResultMs)),
  });
  return { started: of(started), running: of(running) };
}

/** Makes two runs of an evaluation, and returns their ids. */
async function makeRuns(run, environment) {
  const rows = Array.from({ length: evaluationRows }, (_, index) => ({
    question: `Question ${index}?`,
    answer: `${index}`,
  }));
  const file = join(home, 'rows.jsonl');
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
  await run(['service', 'put-dataset', 'rows', file, '--project', project], environment);
  const call = async (tool, args) => JSON.parse(await run(['call', tool, JSON.stringify(args)], environment));
  const { scorer_ref } = await call('create_scorer', { name: 'right', kind: 'contains', expected: 'answer' });
  const dataset = `weave:///${project}/object/rows:latest`;
  await call('create_evaluation', { name: 'board', dataset, scorers: [scorer_ref] });
  const ids = [];
  for (const prompt of ['Hello', '{answer}']) {
    const args = ['board', '--model', 'heddle/echo', '--prompt', prompt, '--yes', '--json', '--rows', '0'];
    const { runs } = JSON.parse(await run(['evaluation', 'run', ...args], environment));
    ids.push(runs[0].run_id);
  }
  return ids;
}

async function measureSize(name, environment) {
  const connection = await openStdio('heddle', environment);
  const { contents } = await connection.request('resources/read', { uri: `ui://heddle/${name}` });
  await connection.close();
  const html = Buffer.from(contents[0].text);
  return { bytes: html.length, gzip: gzipSync(html).length, brotli: brotliCompressSync(html).length };
}

/** Runs a command that shows a View, and opens its address in a new page. */
async function openView(browser, args, environment) {
  // Without a browser of its own, the command prints the address.
  const child = start([heddle, ...args], { ...environment, BROWSER: '/none/browser' });
  const [url] = await said(child, 'stdout', /http:\S+/);
  const page = await browser.newPage();
  // Runs before the page's own script.
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('article, .rows > li')) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => performance.mark('painted')));
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(url);
  return { page, child };
}

/** Returns the time until the first items were painted, since the start of the page and since their result arrived. */
function paintedAfter(page) {
  return page.evaluate(async () => {
    const paintedMs = await new Promise((resolve) => {
      new PerformanceObserver((list) => {
        for (const { name, startTime } of list.getEntries()) if (name === 'painted') resolve(startTime);
      }).observe({ type: 'mark', buffered: true });
    });
    const { responseEnd } = performance.getEntriesByType('resource').findLast(({ name }) => name.endsWith('/call'));
    return { paintedMs, sinceResultMs: paintedMs - responseEnd };
  });
}

/** Judges items by keys as fast as the page takes them; returns the times between frames, and the memory at the end. */
async function measureJudging(page) {
  await page.evaluate(() => {
    window.frameMs = [];
    let before = performance.now();
    const note = (now) => {
      window.frameMs.push(now - before);
      before = now;
      requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  });
  for (let count = 0; count < judged; count += 1) await page.keyboard.press(count % 3 === 0 ? '2' : '1');
  // Keys wait for the card that they are meant for. None may be lost.
  await page.getByText(`Question ${judged}?`).first().waitFor();
  const frameMs = await page.evaluate('window.frameMs');
  const heapMb = await page.evaluate('performance.memory.usedJSHeapSize / 2 ** 20');
  return { medianMs: median(frameMs), longestMs: Math.max(...frameMs), heapMb };
}

/** Renders the measurements as Markdown. */
export function reportBoard({ sizes, times, judging }) {
  const sizeOf = ({ bytes, gzip, brotli }) => {
    const [html, gzipped, brotlied] = [bytes, gzip, brotli].map((count) => shown(count / 1000, ' kB'));
    return `${html}; gzip ${gzipped}, brotli ${brotlied}`;
  };
  const rows = [['size of the page (at most 100 kB)', sizeOf(sizes.review), sizeOf(sizes.evaluation)]];
  if (times !== undefined) {
    const { review, evaluation } = times;
    const line = (label, of) => [label, shown(of(review), ' ms'), shown(of(evaluation), ' ms')];
    rows.push(
      line('start of the page until its items are painted, command just started', ({ started }) => started.paintedMs),
      line('the same, command in use', ({ running }) => running.paintedMs),
      line('result until painted, command in use', ({ running }) => running.sinceResultMs),
      [`frame while ${judged} items are judged by keys, median`, shown(judging.medianMs, ' ms'), ''],
      [`frame while ${judged} items are judged by keys, longest`, shown(judging.longestMs, ' ms'), ''],
      ['memory of the page after that', shown(judging.heapMb, ' MB'), ''],
    );
  }
  return `## The Views

\`heddle board\` in Chromium with a queue of ${items} items, and \`heddle evaluation compare --open\` with two runs of ${evaluationRows} rows, both in
the embedded service. The times include the service and the painting.

${table(['what', 'review board', 'page of results'], rows)}`;
}
