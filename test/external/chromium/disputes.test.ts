import { userInfo } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { startBoard } from '../../support/board.ts';
import { accessibilityFindings, type Browser, hasChromium, says, startChromium } from '../../support/chromium.ts';
import { call } from '../../support/heddle.ts';
import { importItems } from '../../support/import-items.ts';
import { onEnd } from '../../support/on-end.ts';

let browser: Browser;

const user = userInfo().username;
/** Three items that ana and ben have judged: they differ a little about the first, and much about the second, which the user has judged too. */
const items = [
  [3, 4],
  [1, 5, 3],
  [2, 2],
].map((scores, number) => ({
  call_id: `call-${number}`,
  call_op_name: 'answer',
  call_trace_id: `trace-${number}`,
  call_started_at: '2026-01-12T09:00:00Z',
  display_fields: ['inputs.question', 'output'],
  call: { inputs: { question: `Question ${number}` }, output: `Answer ${number}` },
  judgements: scores.flatMap((value, place) => [
    { field: 'score', value, annotator: ['ana', 'ben', user][place]!, judged_at: '2026-01-13T09:00:00Z' },
    { field: 'correct', value: true, annotator: ['ana', 'ben', user][place]!, judged_at: '2026-01-13T09:00:00Z' },
  ]),
}));

describe.skipIf(!hasChromium)('disputes on the board', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('stand side by side, the worst first, and wait for a reason after the key that settles them', async () => {
    const environment = await importItems(items);
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    onEnd(() => context.close());
    const page = await context.newPage();
    await page.goto((await startBoard(['q', '--project', 'demo/support'], environment)).url);
    await says(page, 'What is left is judged, or with someone else now.');
    await page.locator('select').first().selectOption('disputes');
    await says(page, '2 items to settle.');
    const card = page.locator('article');
    expect(await card.locator('.item-values').innerText()).toContain('Question 1');
    expect(await card.locator('legend').allInnerTexts()).toEqual(['score']);
    const values = card.locator('fieldset .line').first().locator('button');
    expect(await values.allInnerTexts()).toEqual(['ana: 1', 'ben: 5', `${user} (you): 3`]);
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(await card.locator('h2').innerText()).toBe('1 of 2');
    // The reason after the value belongs to the same item.
    await page.keyboard.press('2');
    expect(await card.locator('.item-values').innerText()).toContain('Question 1');
    await page.keyboard.press('n');
    await page.keyboard.type('Four of five points.');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    // A reason without a value waits, and keeps nothing else from being written.
    expect(await card.locator('.item-values').innerText()).toContain('Question 0');
    await page.keyboard.press('n');
    await page.keyboard.type('Not decided yet.');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Write 1 item' }).click();
    await says(page, '1 item written. Choose a value for the reason of item 2.');
    await card.first().focus();
    await page.keyboard.press('1');
    await page.locator('select').first().selectOption('todo');
    await says(page, 'Write your decisions first.');
    // When the board opens, it announces the decision that is kept for the dispute.
    await page.reload();
    await says(page, 'What you decided about 1 dispute is not written: choose Disputes.');
    await page.locator('select').first().selectOption('disputes');
    await page.getByRole('button', { name: 'Write 1 item' }).click();
    await says(page, '1 item written.');

    const query = {
      queue_id: 'q',
      project_id: 'demo/support',
      include_judgements: true,
      fields: ['call_id', 'gold_reasons'],
    };
    const { result } = await call('query_queue_items', query, environment);
    const stored = result.items.find(({ call_id }: { call_id: string }) => call_id === 'call-1');
    expect(stored).toMatchObject({
      judgements: { ana: { score: 1, correct: true }, ben: { score: 5, correct: true } },
      gold: { score: 5 },
      gold_reasons: { score: 'Four of five points.' },
    });
    expect(Object.keys(stored.judgements)).toEqual(['ana', 'ben', user]);
  });
});
