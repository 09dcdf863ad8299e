import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { views } from '../../../src/board/views.ts';
import { startView } from '../../support/board.ts';
import {
  accessibilityFindings,
  type Browser,
  type Frame,
  hasChromium,
  type OpenChat,
  openChat,
  says,
  startChatPage,
  startChromium,
} from '../../support/chromium.ts';
import { connectClient } from '../../support/client.ts';
import { type ComparedRuns, hostile, makeComparedRuns } from '../../support/compared-runs.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { startHttp } from '../../support/http-server.ts';
import { onEnd } from '../../support/on-end.ts';

let browser: Browser;
let chatUrl: string;
let runs: ComparedRuns;
let server: string;

/** Opens a chat that shows the results of the two runs, or of what the arguments name. */
function openResults(
  args: Record<string, unknown> = { run_ids: [runs.baseline, runs.changed] },
  options: Partial<Parameters<typeof openChat>[1]> = {},
): Promise<OpenChat> {
  return openChat(browser, { server, chatUrl, tool: 'read_evaluation', args, ...options });
}

/** Returns the tool calls that the View has made. */
const callsOf = ({ page }: OpenChat): Promise<{ name: string; arguments: Record<string, unknown> }[]> =>
  page.evaluate('chat.calls');

/** Returns the texts of elements, each on one line. */
async function textsOf(view: Frame, selector: string): Promise<string[]> {
  const texts = await view.locator(selector).allInnerTexts();
  return texts.map((text) => text.replaceAll(/\s+/g, ' ').trim());
}

/** Returns the row of a question. */
const rowOf = (view: Frame, question: string) => view.locator('.rows > li').filter({ hasText: question });

beforeAll(async () => {
  if (!hasChromium) return;
  [browser, chatUrl, runs] = await Promise.all([startChromium(), startChatPage(), makeComparedRuns()]);
  server = (await startHttp([], runs.environment)).url;
});

describe.skipIf(!hasChromium)('the results of evaluations in a chat', () => {
  it.each([
    ['legacy', '2025-11-25'],
    ['auto', '2026-07-28'],
  ] as const)(
    'show two runs side by side in the %s era, with their scores and the rows that changed',
    async (era, version) => {
      const chat = await openResults(undefined, { era });
      const { page, board: view } = chat;
      expect(await page.evaluate('chat.client.getNegotiatedProtocolVersion()')).toBe(version);
      await says(view, '50 of 60 rows shown.');
      expect(await view.locator('h1').innerText()).toBe('quality');
      // A chat has its own header.
      expect(await view.locator('.brand').count()).toBe(0);
      const cards = await textsOf(view, '.run');
      expect(cards).toHaveLength(2);
      expect(cards[0]).toMatch(
        /^Run 1 complete Model helper Prompt Guess \{question\} Started .* Predictions 60 Tokens 600 Tokens of judges 1,200 Mean latency \S+ s Id /,
      );
      expect(cards[1]).toContain('Prompt Think {question}');
      expect(await textsOf(view, 'section > h3')).toEqual(['exact', 'judge.score', 'tone.score']);
      const [exact, judge, tone] = await textsOf(view, 'section');
      expect(exact).toBe(
        'exact Run 1 50% (37.7 to 62.3) of 60 passed Run 2 90% (79.8 to 95.3) of 60 passed 30 better, 6 worse, 24 same, p < 0.001, p_holm < 0.001 better: +40 points (+21.8 to +55.4) on 60 rows; 6 rows that passed before fail now',
      );
      expect(judge).toContain(
        'mean 0.475 (0.402 to 0.545) of 60, judge: not calibrated from 0 to 0.95; quartiles 0.238 / 0.475 / 0.713',
      );
      expect(judge).toContain('60 better, 0 worse, 0 same, p < 0.001, p_holm < 0.001 better: +0.05 ');
      expect(tone).toBe(
        'tone.score Run 1 60 values, judge: not calibrated curt 60 Run 2 60 values, judge: not calibrated kind 60 0 better, 0 worse, 0 same, 60 changed labels differ on 60 rows',
      );
      // The largest losses come first.
      expect((await textsOf(view, '.rows > li')).slice(0, 1)).toEqual([
        expect.stringMatching(/^row \d*3: .*exact passed → not passed ▼ worse judge.score 0.15 → 0.2 ▲ better/),
      ]);
      await view.getByRole('button', { name: 'Show more rows' }).click();
      await says(view, '60 of 60 rows shown.');
      expect(await view.evaluate('document.activeElement.className')).toBe('row-title');
      await view.locator('select').focus();
      await view.locator('select').selectOption('failed');
      await says(view, '6 of 6 rows shown.');
      expect(await view.evaluate('document.activeElement.tagName')).toBe('SELECT');
      const calls = await callsOf(chat);
      expect(new Set(calls.map(({ name }) => name))).toEqual(new Set(['read_evaluation']));
      expect(calls.at(-1)!.arguments).toMatchObject({ run_ids: [runs.baseline, runs.changed], only: 'failed' });
      expect(await page.evaluate('chat.modelContext')).toEqual([]);
    },
  );

  it('load the whole values of a row when it is opened, from the recorded call of each run', async () => {
    const chat = await openResults({ run_ids: [runs.baseline, runs.changed], only: 'worst' });
    const { board: view } = chat;
    await says(view, /rows shown/);
    const row = rowOf(view, 'row 1: Question 1?');
    while (!(await row.isVisible())) await view.getByRole('button', { name: 'Show more rows' }).click();
    const title = row.getByRole('button', { name: 'row 1: Question 1?' });
    expect(await title.getAttribute('aria-expanded')).toBe('false');
    await title.click();
    expect(await title.getAttribute('aria-expanded')).toBe('true');
    await row.getByRole('button', { name: 'Show all 20,028 characters' }).first().click();
    await row.getByRole('button', { name: 'Show less' }).first().waitFor();
    expect(await view.evaluate("document.querySelector('.rows').innerText.includes('x'.repeat(20000))")).toBe(true);
    const read = (await callsOf(chat)).filter(({ name }) => name === 'read_call');
    expect(read.map(({ arguments: args }) => args.paths)).toEqual([
      ['output.output', 'output.model_output', 'output.scores.judge.reasoning'],
      ['output.output', 'output.model_output', 'output.scores.judge.reasoning'],
    ]);
    expect(new Set(read.map(({ arguments: args }) => args.call_id)).size).toBe(2);
    await title.click();
    expect(await row.locator('.values').count()).toBe(0);
  });

  it.each([
    ['light at 720 px', 'light', 720],
    ['dark at 720 px', 'dark', 720],
    ['light at 320 px, which 200 % zoom gives at 640 px', 'light', 320],
  ] as const)('have no accessibility findings and no horizontal scrolling in %s', async (_, theme, width) => {
    const { board: view } = await openResults(
      { run_ids: [runs.baseline, runs.changed], expected: 'liked' },
      { open: { hostContext: { theme } }, context: { viewport: { width, height: 800 } } },
    );
    const check = async (): Promise<void> => {
      expect(await accessibilityFindings(view)).toEqual([]);
      expect(await view.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    };
    await says(view, /rows shown/);
    const [agreement] = (await textsOf(view, 'section')).filter((text) => text.startsWith('Agreement'));
    expect(agreement).toMatch(/^Agreement of exact with liked, run 1 100% of 60 rows agree, kappa 1\. /);
    expect(await textsOf(view, 'section:has(.scroll) td')).toEqual(expect.arrayContaining(['30', '0', '0', '30']));
    await view.locator('.row-title').first().click();
    await view.locator('.values').first().waitFor();
    await check();
    await view.getByRole('button', { name: 'All runs of quality' }).click();
    await says(view, '2 of 2 runs shown.');
    await check();
  });

  it('show bars and the focus with forced colours', async () => {
    const { board: view } = await openResults(undefined, {
      context: { forcedColors: 'active', reducedMotion: 'reduce' },
    });
    await says(view, /rows shown/);
    const [bar, ground] = await view.evaluate(
      "['::before', undefined].map((part) => getComputedStyle(document.querySelector('.bar'), part).backgroundColor)",
    );
    expect(bar).not.toBe(ground);
    await view.locator('.row-title').first().focus();
    expect(await view.evaluate("getComputedStyle(document.querySelector('.row-title')).transitionDuration")).toBe('0s');
    expect(await accessibilityFindings(view)).toEqual([]);
  });

  it('show hostile values as plain text that neither runs nor loads anything', async () => {
    const requests: string[] = [];
    const { page, board: view } = await openResults();
    page.on('request', (request: never) => requests.push((request as { url(): string }).url()));
    await says(view, /rows shown/);
    await view.getByRole('button', { name: 'Show more rows' }).click();
    await says(view, '60 of 60 rows shown.');
    for (const question of ['row 0:', 'row 2:']) await rowOf(view, question).locator('.row-title').click();
    expect(await rowOf(view, 'row 0:').locator('.values').innerText()).toContain(hostile.markup);
    expect(await rowOf(view, 'row 2:').locator('.values').innerText()).toContain('aU+202EbU+200B ×3c');
    expect(await rowOf(view, 'row 2:').locator('h3').innerText()).toContain('a[U+202E]b[U+200B]c');
    expect(await view.locator('.rows img, .rows script, .rows a, .rows iframe').count()).toBe(0);
    expect(await view.evaluate('window.ran')).toBeUndefined();
    expect(requests.filter((each) => !each.startsWith('http://127.0.0.1'))).toEqual([]);
  });

  it('list the runs of an evaluation, and let the user compare two or open one with the keyboard alone', async () => {
    const chat = await openResults({ evaluation: 'quality' });
    const { page, board: view } = chat;
    await says(view, '2 of 2 runs shown.');
    const [newest] = await textsOf(view, 'tbody tr');
    expect(newest).toMatch(
      /complete helper Think \{question\} 60 predictions, 600 tokens, judges 1,200 tokens exact 90% \(79.8 to 95.3\) of 60 passed judge.score mean 0.525 of 60, judge: not calibrated$/,
    );
    await view.locator('tbody input').first().focus();
    for (const key of ['Space', 'Tab', 'Tab', 'Space']) await page.keyboard.press(key);
    await view.locator('button.primary[aria-disabled=false]').waitFor();
    for (const key of ['Tab', 'Tab']) await page.keyboard.press(key);
    await view.locator('button.primary:focus').waitFor();
    await page.keyboard.press('Enter');
    await says(view, /of 60 rows shown/);
    expect(await view.evaluate('document.activeElement.tagName')).toBe('H1');
    expect((await callsOf(chat)).at(-1)!.arguments).toMatchObject({ run_ids: [runs.baseline, runs.changed] });
    await view.locator('.row-title').first().focus();
    for (const key of ['ArrowDown', 'Enter']) await page.keyboard.press(key);
    expect(await view.locator('.row-title').nth(1).getAttribute('aria-expanded')).toBe('true');
    await view.getByRole('button', { name: 'All runs of quality' }).click();
    await says(view, '2 of 2 runs shown.');
    await view
      .getByRole('button', { name: /^Open the run/ })
      .first()
      .click();
    await says(view, '50 of 60 rows shown.');
    expect(await textsOf(view, '.run h2')).toEqual(['Run']);
  });

  it('show the progress of an unfinished run, and its end after a refresh', async () => {
    const started = runs.client.call('run_evaluation', {
      evaluation: 'quality',
      model: 'helper',
      prompt: 'Wait {question}',
      // Rows 0 and 1, which get their answers at once, and two others.
      sample: { n: 4, seed: 795 },
    });
    const evaluation = 'quality-sample-4-seed-795';
    const progress = async () => (await runs.client.call('read_evaluation', { evaluation })).runs?.[0];
    await expect.poll(progress).toMatchObject({ status: 'running', completed: 2, total: 4 });
    const { run_id } = await progress();
    const { board: view } = await openResults({ run_ids: [run_id] });
    await says(view, '2 of 2 rows shown.');
    expect((await textsOf(view, '.run-status'))[0]).toBe('running (2 of 4 predictions)');
    expect(await view.locator('progress').getAttribute('max')).toBe('4');
    expect((await textsOf(view, '.problem'))[0]).toContain('1 run not finished');
    await view.locator('.row-title').first().click();
    runs.release();
    expect(await started).toMatchObject({ status: 'complete' });
    await view.getByRole('button', { name: 'Refresh' }).click();
    await says(view, '4 of 4 rows shown.');
    expect((await textsOf(view, '.run-status'))[0]).toBe('complete');
    expect(await view.evaluate('document.activeElement.textContent')).toBe('Refresh');
    // The row that was open still is.
    expect(await view.locator('[aria-expanded=true]').count()).toBe(1);
  });

  it('show the error of a prediction, and how many rows only one run has', async () => {
    const args = { evaluation: 'quality', model: 'helper', prompt: 'Fail {question}', sample: { n: 4, seed: 7 } };
    const { run_id, status } = await runs.client.call('run_evaluation', args);
    expect(status).toBe('complete with 1 error');
    const { board: view } = await openResults({ run_ids: [runs.baseline, run_id], only: 'failed' });
    await says(view, /rows? shown/);
    expect((await textsOf(view, '.run'))[1]).toContain('Predictions 4, 1 of them failed');
    expect(await textsOf(view, 'p.quiet-line')).toContain(
      'Run 2 against run 1: 4 shared rows, 56 more in one of them only.',
    );
    const row = rowOf(view, 'row 3:');
    expect(await row.innerText()).toContain('Row <b>3</b> is refused');
    expect(await row.innerText()).toMatch(/exact\s*passed → no score/);
    await row.locator('.row-title').click();
    expect(await row.locator('.problem').innerText()).toContain('Row <b>3</b> is refused');
    expect(await view.locator('.rows b:not(.change)').count()).toBe(0);
    expect(await accessibilityFindings(view)).toEqual([]);
  });

  it("format numbers and times in the user's language", async () => {
    const { board: view } = await openResults(undefined, {
      open: { hostContext: { locale: 'de-DE', timeZone: 'Asia/Tokyo' } },
    });
    await says(view, /rows shown/);
    const [exact, judge] = await textsOf(view, 'section');
    expect(exact).toContain('50 % (37,7 to 62,3) of 60 passed');
    expect(judge).toContain('mean 0,475 (0,402 to 0,545) of 60');
    expect((await textsOf(view, '.run dl'))[0]).toMatch(/Started \d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d/);
  });

  it('read the results again when they are remounted', async () => {
    const chat = await openResults({ run_ids: [runs.changed] });
    await says(chat.board, '50 of 60 rows shown.');
    await chat.page.evaluate('chat.mount()');
    await says(chat.page.frames().at(-1)!, '50 of 60 rows shown.');
    expect(await callsOf(chat)).toHaveLength(2);
  });

  it('say that the chat does not answer, and ignore messages of other windows', async () => {
    const { page, board: view } = await openResults(undefined, { open: { silent: true } });
    const result = { structuredContent: await page.evaluate('chat.last.result.structuredContent') };
    const json = JSON.stringify({ jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: result });
    await page.evaluate(`{
      const peer = document.body.appendChild(document.createElement('iframe'));
      const script = peer.contentDocument.createElement('script');
      script.textContent = 'parent.frames[0].postMessage(' + ${JSON.stringify(json)} + ', "*")';
      peer.contentDocument.body.append(script);
      frames[0].postMessage({ ...${json}, jsonrpc: '1.0' }, '*');
    }`);
    await says(
      view,
      'The chat does not answer. This page will open as soon as it does; or run heddle evaluation show in a terminal.',
    );
    expect(await view.locator('.run').count()).toBe(0);
    await page.evaluate(`frames[0].postMessage(${json}, '*')`);
    await says(view, '10 of 60 rows shown.');
  });

  it('use the result that the chat has when it refuses another call, and say what failed', async () => {
    const refused = await openResults({ run_ids: [runs.changed] }, { open: { refuseCalls: true } });
    await refused.board.locator('.run').waitFor();
    await says(refused.board, 'The chat did not allow this.');
    expect(await refused.board.getByRole('button', { name: 'Try again' }).isVisible()).toBe(true);
    const unknown = await openResults({ run_ids: ['none'] });
    await says(unknown.board, 'This no longer exists on the service.');
  });
});

/** Makes the runs that docs/evaluations.md makes. */
async function makeDocumentedRuns(): Promise<{ environment: Record<string, string>; runIds: string[] }> {
  // Without a browser, the command prints its address.
  const environment = emptyHome(temporaryFolder(), { BROWSER: '/none/browser' });
  const { call } = await connectClient(environment);
  const rows = [
    ['Is Oslo the capital of Norway?', 'Oslo'],
    ['Vienna is the capital of which country?', 'Vienna'],
    ['What is the capital of Denmark?', 'Copenhagen'],
    ['What is the capital of Finland?', 'Helsinki'],
    ['What is the capital of Poland?', 'Warsaw'],
    ['What is the capital of Hungary?', 'Budapest'],
    ['What is the capital of Ireland?', 'Dublin'],
    ['What is the capital of Portugal?', 'Lisbon'],
  ].map(([question, capital]) => ({ question, capital }));
  const { dataset_ref: dataset } = await call('create_dataset', { name: 'capital-questions', rows });
  const definition = { name: 'Names the capital', kind: 'contains', expected: 'capital' };
  const { scorer_ref } = await call('create_scorer', definition);
  await call('create_evaluation', { name: 'Capitals', dataset, scorers: [scorer_ref] });
  const runIds: string[] = [];
  for (const prompt of ['{question}', '{question} It is {capital}.']) {
    const { run_id } = await call('run_evaluation', { evaluation: 'Capitals', model: 'heddle/echo', prompt });
    runIds.push(run_id);
  }
  return { environment, runIds };
}

describe.skipIf(!hasChromium)('heddle evaluation with --open', () => {
  // The pictures in docs/evaluations.md; HEDDLE_SCREENSHOTS names the folder to write them into.
  it('shows runs in a browser, as in the documentation in light and dark', async () => {
    const { environment, runIds } = await makeDocumentedRuns();
    const { url, interrupt } = await startView(['evaluation', 'compare', ...runIds, '--open'], environment);
    const context = await browser.newContext({
      viewport: { width: 760, height: 1000 },
      locale: 'en-GB',
      reducedMotion: 'reduce',
    });
    onEnd(() => context.close());
    const page = await context.newPage();
    const calls: (string | null)[] = [];
    page.on('request', (request: never) => calls.push((request as { postData(): string | null }).postData()));
    await page.goto(url);
    await says(page, '6 of 6 rows shown.');
    // The command makes the same call while the browser starts.
    const view = views.find(({ name }) => name === 'evaluation')!;
    expect(calls.at(-1)).toBe(JSON.stringify(view.firstCall({ run_ids: runIds })));
    expect(await textsOf(page, 'section')).toEqual([
      'names_the_capital Run 1 25% (7.1 to 59.1) of 8 passed Run 2 100% (67.6 to 100) of 8 passed 6 better, 0 worse, 2 same, p 0.031 better: +75 points (+18.2 to +92.8) on 8 rows; 0 rows that passed before fail now',
    ]);
    const folder = process.env.HEDDLE_SCREENSHOTS;
    if (folder) mkdirSync(join(folder, 'docs'), { recursive: true });
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      const path = folder && join(folder, `docs/evaluation-${colorScheme}.png`);
      const picture = await page.screenshot({ ...(path && { path }) });
      // A page without content compresses to less.
      expect(picture.length).toBeGreaterThan(15_000);
      const [ground] = await page.evaluate(
        'getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)',
      );
      expect(ground > 128).toBe(colorScheme === 'light');
    }
    await interrupt();
    await page.getByRole('button', { name: 'Refresh' }).click();
    await says(page, 'heddle has ended. Run the command again in a terminal.');
  });

  it('opens one run, from which the user can list all runs', async () => {
    const { url } = await startView(['evaluation', 'show', runs.changed, '--only', 'failed', '--open'], {
      ...runs.environment,
      BROWSER: '/none/browser',
    });
    const context = await browser.newContext();
    onEnd(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    await says(page, '6 of 6 rows shown.');
    expect(await page.locator('.brand').innerText()).toBe('heddle');
    await page.getByRole('button', { name: 'All runs of quality' }).click();
    await says(page, /^(\d) of \1 runs shown\.$/);
  });
});
