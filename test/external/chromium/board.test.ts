import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { views } from '../../../src/board/views.ts';
import { startBoard } from '../../support/board.ts';
import {
  accessibilityFindings,
  type Browser,
  hasChromium,
  type Page,
  progressSays,
  says,
  startChromium,
} from '../../support/chromium.ts';
import { call, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { onEnd } from '../../support/on-end.ts';

let browser: Browser;

/** Opens an address in a new window, which is closed at the end of the test. */
async function open(
  url: string,
  options: Record<string, unknown> = {},
  onRequest?: (request: { postData(): string | null }) => void,
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 800, height: 900 }, locale: 'en-GB', ...options });
  onEnd(() => context.close());
  const page = await context.newPage();
  if (onRequest) page.on('request', onRequest as (request: never) => void);
  await page.goto(url);
  return page;
}

describe.skipIf(!hasChromium)('heddle board in a browser', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('lets a person judge 120 items with the keyboard alone', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder);
    const lines = Array.from({ length: 120 }, (_, n) => ({
      call_id: `call-${n}`,
      call_op_name: 'support.answer',
      call_trace_id: 't',
      call_started_at: '2026-01-12T09:00:00Z',
      call: { output: `answer ${n}` },
    }));
    writeFileSync(join(folder, 'items.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'));
    const target = ['--project', 'demo/support', '--queue', 'import'];
    const importing = ['service', 'import', join(folder, 'items.jsonl'), ...target];
    expect((await run(importing, environment)).code).toBe(0);
    const fields = [{ name: 'helpful', type: 'boolean' }];
    const { queue_id } = (await call('create_queue', { name: 'Many', fields }, environment)).result;
    const call_ids = lines.map(({ call_id }) => call_id);
    const items = { queue_id, call_ids, display_fields: ['output'], confirm: true };
    expect((await call('add_queue_items', items, environment)).result).toMatchObject({ added: 120 });

    const { url } = await startBoard([queue_id], environment);
    const page = await open(url);
    await says(page, '20 items to judge; more follow.');
    // The first card has the focus.
    expect(await page.evaluate("document.activeElement.getAttribute('aria-posinset')")).toBe('1');
    for (let judged = 0; judged < 120; judged += 1) {
      await page.keyboard.press(judged % 3 === 0 ? '2' : '1');
      // The next page is loaded when the last card is judged.
      const shown = Math.min(120, (Math.floor((judged + 1) / 20) + 1) * 20);
      if ((judged + 1) % 20 === 0 && judged < 119) await says(page, `${shown} items to judge`);
    }
    await page.keyboard.press('Enter');
    await says(page, 'Press Enter or the button once more to write all 120 items.');
    await page.keyboard.press('Enter');
    await says(page, '120 items written.');
    await progressSays(page, '120 of 120 items finished by you');
    const { result } = await call('summarize_queue', { queue_id, by: ['state', 'field'] }, environment);
    expect(result.tables[0].rows).toEqual([['completed', 120, 80, 40]]);
  });

  it('survives a reload and the end of the command, and says that an address was used in another browser', async () => {
    const environment = emptyHome(temporaryFolder());
    const { url, interrupt } = await startBoard(['support-triage'], environment);
    const calls: (string | null)[] = [];
    const page = await open(url, {}, (request) => calls.push(request.postData()));
    await says(page, '9 items to judge.');
    // The command makes the same call while the browser starts.
    const view = views.find(({ name }) => name === 'review')!;
    expect(calls).toContain(JSON.stringify(view.firstCall({ queue_id: 'support-triage' })));
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate("document.activeElement.getAttribute('aria-posinset')")).toBe('2');
    expect(page.url()).not.toContain('token');
    await page.reload();
    await says(page, '9 items to judge.');
    const other = await open(url);
    await says(other, 'This address has been used in another browser, or is of a command that has ended.');
    await interrupt();
    await page.getByRole('button', { name: 'Refresh' }).click();
    await says(page, 'heddle has ended. Run the command again in a terminal.');
    const again = await startBoard(['support-triage'], environment);
    // Opened in the same tab, where only what is behind the # is new.
    await page.goto(again.url);
    await says(page, '9 items to judge.');
  });

  it('lists the queues when it is started without one', async () => {
    const environment = emptyHome(temporaryFolder());
    await call('create_queue', { name: 'second' }, environment);
    const { url } = await startBoard([], environment);
    const page = await open(url);
    await says(page, 'Choose a queue.');
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'support-triage' }).click();
    await says(page, '9 items to judge.');
    expect(await page.locator('h1').innerText()).toBe('support-triage');
  });

  it('shows nothing of the queue before once another one is chosen, also after a reload', async () => {
    const environment = emptyHome(temporaryFolder());
    const change = { judgements: { helpful: false }, annotation_state: 'completed' };
    await call('update_queue_items', { queue_id: 'support-triage', filter: {}, change, confirm: true }, environment);
    const { items } = (await call('query_queue_items', { queue_id: 'support-triage' }, environment)).result;
    const { queue_id } = (await call('create_queue', { name: 'second' }, environment)).result;
    await call('add_queue_items', { queue_id, call_ids: [items[0].call_id, items[1].call_id] }, environment);
    const { url } = await startBoard(['support-triage'], environment);
    const page = await open(url);
    await progressSays(
      page,
      `12 of 12 items finished; judged: ${userInfo().username} 0, ${userInfo().username} (heddle) 12`,
    );
    await page.locator('summary').filter({ hasText: 'Keyboard' }).click();
    await page.getByRole('checkbox', { name: 'Single keys' }).uncheck();
    // A count that is under way belongs to the queue that it was made for.
    await page.evaluate(`const send = fetch;
      window.fetch = (path, options) => {
        if (!options.body.includes('summarize_queue')) return send(path, options);
        return new Promise((resolve) => { window.goOn = () => { const answer = send(path, options); resolve(answer); return answer; }; });
      };`);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('button', { name: 'Choose another queue' }).click();
    await says(page, 'Choose a queue.');
    expect(await page.evaluate('document.title')).toBe('heddle board');
    await page.getByRole('button', { name: 'second' }).click();
    await says(page, '2 items to judge.');
    await expect.poll(() => page.evaluate("'goOn' in window")).toBe(true);
    await page.evaluate('window.goOn().then((answer) => answer.clone().text()).then(() => {})');
    expect(await page.locator('.progress').innerText()).toBe('0 of 2 items finished');
    await page.locator('summary').filter({ hasText: 'Keyboard' }).click();
    expect(await page.getByRole('checkbox', { name: 'Single keys' }).evaluate((box) => box.checked)).toBe(false);
    await page.reload();
    await says(page, '2 items to judge.');
    expect(await page.locator('h1').innerText()).toBe('second');
  });

  it('opens the only queue, and accepts keys immediately and after writing', async () => {
    const environment = emptyHome(temporaryFolder());
    const { url } = await startBoard([], environment);
    const page = await open(url);
    await says(page, '9 items to judge.');
    // Keys count for the current card wherever the focus is.
    await page.locator('summary').first().click();
    await page.keyboard.press('2');
    await page.getByRole('button', { name: 'Write 1 item' }).click();
    await says(page, '1 item written.');
    // The key moved on to the second item.
    expect(await page.evaluate("document.activeElement.getAttribute('aria-posinset')")).toBe('2');
    await page.keyboard.press('1');
    await page.keyboard.press('Enter');
    await says(page, '1 item written.');
    for (const value of [false, true]) {
      const judged = { queue_id: 'support-triage', filter: { field: 'helpful', value }, fields: ['id'] };
      expect((await call('query_queue_items', judged, environment)).result.items).toHaveLength(1);
    }
  });

  it('takes what is typed after the note was opened as its text, and never as shortcuts', async () => {
    const { url } = await startBoard(['support-triage'], emptyHome(temporaryFolder()));
    const page = await open(url);
    await says(page, '9 items to judge.');
    const note = page.locator('.note summary');
    const box = page.locator('.note textarea');
    await note.click();
    await page.keyboard.type('also false');
    expect(await box.inputValue()).toBe('also false');
    // It is closed, and its line has the focus.
    await note.click();
    await page.keyboard.type('as1');
    expect([await page.locator('article').count(), await page.locator('.choice[aria-pressed=true]').count()]).toEqual([
      1, 0,
    ]);
    await page.keyboard.press('Enter');
    await page.keyboard.type('!');
    expect(await box.inputValue()).toBe('also false!');
    for (const control of [page.locator('.others summary'), page.getByRole('button', { name: /^Yes/ })]) {
      await control.click();
      await page.keyboard.press('s');
      await says(page, 'Nothing was done: you clicked something else. Press Esc, then the letter.');
      expect(await page.locator('[data-decided] .actions [aria-pressed=true]').count()).toBe(0);
    }
    await page.keyboard.press('Escape');
    await page.keyboard.press('s');
    await says(page, 'Item 1: skipped');
  });

  it('asks before it writes items that two letters have skipped', async () => {
    const { url } = await startBoard(['support-triage'], emptyHome(temporaryFolder()));
    const page = await open(url);
    await says(page, '9 items to judge.');
    await page.keyboard.type('as');
    await says(page, 'skipped, for 9 items. u takes that back.');
    await page.keyboard.press('Enter');
    await says(
      page,
      'Nothing is written yet. Press Enter or the button once more to write all 9 items. 9 of them go to someone else, and you cannot take that back.',
    );
    await page.keyboard.press('u');
    await says(page, 'Taken back: skipped, for 9 items.');
    expect(await page.locator('footer').isVisible()).toBe(false);
  });

  it('shows 300 items, page by page', async () => {
    const folder = temporaryFolder();
    const environment = emptyHome(folder, { HEDDLE_MAX_RESULT_CHARS: '1000000' });
    const lines = Array.from({ length: 300 }, (_, n) => ({
      call_id: `call-${n}`,
      call_op_name: 'support.answer',
      call_trace_id: 't',
      call_started_at: '2026-01-12T09:00:00Z',
      display_fields: ['output'],
      call: { output: `answer ${n} `.repeat(40) },
    }));
    writeFileSync(join(folder, 'items.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'));
    const importing = [
      'service',
      'import',
      join(folder, 'items.jsonl'),
      '--project',
      'demo/support',
      '--queue',
      'long',
    ];
    expect((await run(importing, environment)).code).toBe(0);
    const { url } = await startBoard(['long'], environment);
    const page = await open(url);
    await says(page, '20 items to judge; more follow.');
    const more = page.locator('main > button');
    await page.keyboard.press('l');
    expect(await more.innerText()).toBe('Show more items');
    for (let shown = 40; shown <= 300; shown += 20) {
      // A click as playwright does it first waits until nothing moves, which takes it long on a long page.
      await page.evaluate("document.querySelector('main > button').click()");
      await says(page, `${shown} items to judge`);
    }
    expect(await page.locator('article').count()).toBe(300);
    expect(await more.isVisible()).toBe(false);
  });
});
