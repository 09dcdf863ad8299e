import { beforeAll, describe, expect, it } from 'vitest';
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
import { execute, startTestService, withStore } from '../../support/embedded-service.ts';
import { call, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { onEnd } from '../../support/on-end.ts';

const project = 'team/support';
const queue_id = 'shared';
let browser: Browser;
const exportLine = expect.stringMatching(
  /^To save the judgements as a file, run node dist\/heddle\.js queue export shared --format csv --wide --values --out [Ss]hared-judgements\.csv --base-url \S+ --project team\/support$/,
);

/** Starts a service with a queue of so many items, and returns the settings of accounts by name. */
async function startShared(
  count: number,
  reviewers_per_item: number | null,
  names: readonly string[],
  fieldNames = ['helpful'],
) {
  const service = await startTestService();
  const settings = new Map<string, Record<string, string>>();
  await withStore(service.data, async (store) => {
    const item = { call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
    const call = { output: 'An answer.' };
    const display_fields = ['output'];
    const lines = Array.from({ length: count }, (_, n) => ({ ...item, call, display_fields, call_id: `c${n}` }));
    const fields = fieldNames.map((name) => ({ name, field_schema: { type: 'boolean' } }));
    const target = { projectId: project, queueId: queue_id, fields };
    await store.importItems(
      lines.map((line) => JSON.stringify(line)),
      target,
    );
    for (const name of names) {
      const { password } = await store.addUser(name, 'all');
      const account = { HEDDLE_USERNAME: name, HEDDLE_PASSWORD: password };
      const connection = { HEDDLE_BASE_URL: service.running.url, HEDDLE_PROJECT: project };
      settings.set(name, emptyHome(temporaryFolder(), { ...connection, ...account }));
    }
  });
  const stored = JSON.stringify(reviewers_per_item);
  await execute(service.data, `update queues set reviewers_per_item = '${stored}' where id = '${queue_id}'`);
  return { data: service.data, environmentOf: (name: string) => settings.get(name)! };
}

/** Opens the board of an account in a browser of its own. */
async function openBoard(environment: Record<string, string>): Promise<Page> {
  const { url } = await startBoard([queue_id], environment);
  const context = await browser.newContext({ viewport: { width: 800, height: 900 }, locale: 'en-GB' });
  onEnd(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Judges so many items with the keyboard, and writes. */
async function judge(page: Page, count: number): Promise<void> {
  for (let judged = 0; judged < count; judged += 1) await page.keyboard.press('1');
  await page.keyboard.press('Enter');
  if (count > 20) await page.keyboard.press('Enter');
  await says(page, `${count} items written.`);
}

describe.skipIf(!hasChromium)('boards of several people on one queue', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('show each item to one person, and no longer to those who have lost it', async () => {
    const { data, environmentOf } = await startShared(30, 1, ['ada', 'ben']);
    const ada = await openBoard(environmentOf('ada'));
    await says(ada, '20 items to judge; more follow.');
    const ben = await openBoard(environmentOf('ben'));
    await says(ben, '10 items to judge.');
    await ada.reload();
    await says(ada, '20 items to judge; more follow.');
    await judge(ben, 10);
    await ben.getByRole('button', { name: 'Refresh' }).click();
    await says(ben, 'What is left is judged, or with someone else now.');
    await execute(data, "update item_claims set held_until = '2026-01-01T00:00:00.000Z'");
    await ben.getByRole('button', { name: 'Refresh' }).click();
    await says(ben, '20 items to judge.');
    await ada.getByRole('button', { name: 'Refresh' }).click();
    await says(ada, 'What is left is judged, or with someone else now.');
  });

  it('lead from item to item with the mouse, take back, and show how far everyone is', async () => {
    const { data, environmentOf } = await startShared(3, 2, ['ada']);
    await execute(data, `update queues set description = 'Judge kindly.' where id = '${queue_id}'`);
    const page = await openBoard(environmentOf('ada'));
    await says(page, '3 items to judge.');
    const press = (name: string | RegExp) => page.getByRole('button', { name }).click();
    await progressSays(page, '0 of 3 items finished by you; 2 opinions each');
    expect(await page.locator('.card .state').innerText()).toBe('unstarted');
    expect(await page.locator('.rules').innerText()).toBe('Judge kindly.');
    await press('Guidelines');
    expect(await page.getByRole('button', { name: 'Previous' }).isDisabled()).toBe(true);
    for (const place of ['1 of 3 to do', '2 of 3 to do', '3 of 3 to do']) {
      expect(await page.locator('h2').innerText()).toBe(place);
      await press(/^Yes/);
      await press('Next');
    }
    await press('Write 3 items');
    await says(page, '3 items written.');
    expect(await page.locator('.end h2').innerText()).toBe('All 3 done');
    await press('Look at all items');
    await says(page, '3 items found.');
    await press('Take back your judgement of helpful');
    await press('Write 1 item');
    await says(page, '1 item written.');
    await progressSays(page, '2 of 3 items finished by you; 2 opinions each');
    for (const panel of ['Keyboard', 'Team']) {
      await page.locator('summary').filter({ hasText: panel }).click();
      expect(await accessibilityFindings(page)).toEqual([]);
      if (panel === 'Keyboard') await page.locator('summary').filter({ hasText: panel }).click();
    }
    await page.locator('.over td').first().waitFor();
    expect(await page.locator('.over tbody th').allInnerTexts()).toEqual(['ada (you)']);
    expect((await page.locator('.over thead th').allInnerTexts())[0]).toBe('Annotator');
    expect((await page.locator('.over tbody td').allInnerTexts()).slice(0, 3)).toEqual(['2', '2', 'none shared']);
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it('say what an agent of the account has judged, and list it to be checked', async () => {
    const { data, environmentOf } = await startShared(3, null, ['cody', 'ada']);
    await execute(data, `update queues set description = 'Judge kindly.' where id = '${queue_id}' returning id`);
    const change = { judgements: { helpful: false }, annotation_state: 'completed' };
    const byAgent = { queue_id, filter: {}, change };
    await call('update_queue_items', byAgent, environmentOf('cody'));
    const ada = await openBoard(environmentOf('ada'));
    await says(ada, 'What is left is judged, or with someone else now.');
    await ada.getByText('You have judged none on the board.').waitFor();
    expect(await ada.locator('.end h2, .end p').allInnerTexts()).toEqual([
      'What is left is judged, or with someone else now',
      'You have judged none on the board.',
      exportLine,
    ]);

    const page = await openBoard(environmentOf('cody'));
    await page.getByText('You have judged none on the board.').waitFor();
    expect(await page.locator('.end h2, .end p').allInnerTexts()).toEqual([
      'All 3 done',
      'cody (heddle) judged 3 items under your account.',
      'You have judged none on the board.',
      exportLine,
    ]);
    expect(await page.locator('.account').innerText()).toBe('You are cody');
    await progressSays(page, '3 of 3 items finished; judged: cody 0, cody (heddle) 3');
    expect(await page.locator('.rules').innerText()).toBe('Judge kindly.');
    await page.getByRole('button', { name: 'Check what was judged' }).click();
    await says(page, '3 items found.');
    expect(await page.locator('.others li').allInnerTexts()).toEqual(['cody (heddle) helpful: No']);
    expect(await page.locator('.summary i').allInnerTexts()).toEqual(Array(2).fill('cody (heddle): helpful: No'));
    expect(await page.getByRole('button', { name: 'Skip' }).count()).toBe(0);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.keyboard.press('s');
    await page.keyboard.press('1');
    await says(page, 'Item 1 decided: helpful Yes');
    await page.locator('article').first().focus();
    await page.keyboard.press('Enter');
    await says(page, '1 item written.');
    expect(await page.locator('article').first().locator('.others li').allInnerTexts()).toEqual([
      'cody (heddle) helpful: No',
      'cody (you) helpful: Yes',
    ]);
    await progressSays(page, '3 of 3 items finished; judged: cody 1, cody (heddle) 3');
    await page.locator('summary').filter({ hasText: 'Team' }).click();
    await page.locator('.over td').first().waitFor();
    const cells = await page.locator('.over tbody tr').allInnerTexts();
    expect(cells.map((row) => row.split('\t')[0])).toEqual(['cody (heddle)', 'cody (you)']);
    expect(cells.map((row) => row.split('\t')[3])).toEqual(['1 of 1 shared', '1 of 1 shared']);
  });

  it('show after a write what an agent of the account has finished meanwhile', async () => {
    const { environmentOf } = await startShared(5, null, ['cody']);
    const page = await openBoard(environmentOf('cody'));
    await says(page, '5 items to judge.');
    await page.keyboard.press('1');
    await page.keyboard.press('Enter');
    await progressSays(page, '1 of 5 items finished by you');
    await page.keyboard.press('1');
    const { items } = (await call('query_queue_items', { queue_id }, environmentOf('cody'))).result;
    const byAgent = { annotation_state: 'completed', judgements: { helpful: false } };
    const judged = [2, 3].map((place) => ({ item_id: items[place].id, ...byAgent }));
    await call('update_queue_items', { queue_id, items: judged }, environmentOf('cody'));
    await page.keyboard.press('Enter');
    await says(page, '1 item written.');
    await progressSays(page, '4 of 5 items finished; judged: cody 2, cody (heddle) 2');
    // The third item was shown, and is finished.
    expect(await page.locator('h2, .card .state').allInnerTexts()).toEqual(['5 of 5 to do', 'unstarted']);
  });

  it('say which values are missing on finished items, mark these, and lead to them', async () => {
    const { environmentOf } = await startShared(3, null, ['cody'], ['helpful', 'tone']);
    const change = { judgements: { helpful: false }, annotation_state: 'completed' };
    await call('update_queue_items', { queue_id, filter: {}, change }, environmentOf('cody'));
    const page = await openBoard(environmentOf('cody'));
    await page.getByRole('heading', { name: 'All 3 finished, but 3 without tone' }).waitFor();
    await progressSays(page, '3 of 3 items finished, but 3 without tone; judged: cody 0, cody (heddle) 3');
    await says(page, '3 items finished, but 3 without tone.');
    await page.getByRole('button', { name: 'Check what was judged' }).click();
    await says(page, '3 items found.');
    expect(await page.locator('.progress .wording').innerText()).toContain('items finished, but 3 without tone;');
    expect(await page.locator('.card .state').allInnerTexts()).toEqual(Array(3).fill('completed without tone'));
    await page.getByRole('combobox', { name: 'Items to show' }).selectOption('lacking');
    await says(page, '3 items found.');
    await page.keyboard.press('l');
    for (const place of ['1 of 3', '2 of 3', '3 of 3']) {
      expect(await page.locator('h2').innerText()).toBe(place);
      expect(await page.locator('.others').evaluate((details) => details.open)).toBe(true);
      await page.getByRole('button', { name: /^Yes/ }).nth(1).click();
      expect(await page.getByRole('button', { name: 'Next' }).getAttribute('class')).toBe('primary');
      await page.getByRole('button', { name: 'Write 1 item' }).click();
      await says(page, '1 item written.');
      await page.getByRole('button', { name: 'Write 1 item' }).waitFor({ state: 'hidden' });
    }
    await page.getByRole('heading', { name: 'All 3 done' }).waitFor();
    await progressSays(page, '3 of 3 items finished; judged: cody 3, cody (heddle) 3');
    const { result } = await call('query_queue_items', { queue_id, filter: { field: 'tone' } }, environmentOf('cody'));
    expect(result.items).toHaveLength(3);
  });

  it('go on to the next item to do once one is written', async () => {
    const { environmentOf } = await startShared(3, null, ['ada']);
    const page = await openBoard(environmentOf('ada'));
    await says(page, '3 items to judge.');
    for (const place of ['1 of 3 to do', '2 of 3 to do', '3 of 3 to do']) {
      expect(await page.locator('h2').innerText()).toBe(place);
      await page.getByRole('button', { name: /^Yes/ }).click();
      await page.getByRole('button', { name: 'Write 1 item' }).click();
      await says(page, '1 item written.');
      await page.getByRole('button', { name: 'Write 1 item' }).waitFor({ state: 'hidden' });
    }
    expect(await page.locator('.end h2').innerText()).toBe('All 3 done');
    expect(await page.locator('.end').innerText()).toContain('Your judgements are stored under ada.');
  });
});
