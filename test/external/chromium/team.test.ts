import { beforeAll, describe, expect, it } from 'vitest';
import { type Browser, hasChromium, type Page, startChromium } from '../../support/chromium.ts';
import { connectClient } from '../../support/client.ts';
import { execute, storedIn, temporaryData, withStore } from '../../support/embedded-service.ts';
import { freePort } from '../../support/free-port.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { onEnd } from '../../support/on-end.ts';
import { startServiceProcess } from '../../support/service-process.ts';

const project = 'team/support';
const queue_id = 'shared';
const people = ['ann', 'ben', 'cy'];
const itemCount = 200;
const pageSize = 20;
let browser: Browser;

/** Stores a queue that wants two opinions of each item, and accounts; returns their passwords by name. */
async function storeQueue(data: string): Promise<Map<string, string>> {
  const passwords = new Map<string, string>();
  await withStore(data, async (store) => {
    const item = { call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };
    const shown = { call: { output: 'An answer.' }, display_fields: ['output'] };
    const lines = Array.from({ length: itemCount }, (_, n) => JSON.stringify({ ...item, ...shown, call_id: `c${n}` }));
    const fields = [{ name: 'helpful', field_schema: { type: 'boolean' } }];
    await store.importItems(lines, { projectId: project, queueId: queue_id, fields });
    for (const name of [...people, 'bot']) passwords.set(name, (await store.addUser(name, 'all')).password);
  });
  await execute(data, "update queues set reviewers_per_item = '2' returning id");
  return passwords;
}

/** Waits until the board says one of several things, and returns what it says. */
async function hear(page: Page, sentences: RegExp): Promise<string> {
  const message = page.locator('[role=status]').filter({ hasText: sentences });
  await message.waitFor();
  return message.innerText();
}

/** Judges and writes items after the board was loaded again. Returns whether there were any. */
async function takeTurn(page: Page): Promise<boolean> {
  await page.reload();
  const message = await hear(page, /items? to judge|^Restored|someone else now|Nothing is left/);
  if (/someone else now|Nothing is left/.test(message)) return false;
  // Fewer may be shown: then these keys do nothing.
  for (let pressed = 0; pressed < pageSize; pressed += 1) await page.keyboard.press('1');
  await page.keyboard.press('Enter');
  const asking = /once more to write/;
  if (asking.test(await hear(page, /once more to write|items? written/))) await page.keyboard.press('Enter');
  expect(await hear(page, /items? written/)).toMatch(/^\d+ items? written\.$/);
  return true;
}

describe.skipIf(!hasChromium)('a team', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('of three people in browsers and an agent gives each of 200 items exactly two opinions, though the service is killed', async () => {
    const data = await temporaryData();
    const passwords = await storeQueue(data);
    const port = await freePort();
    const start = () => startServiceProcess(storedIn(data), ['--port', `${port}`, '--board']);
    const { child, url } = await start();
    const connection = { HEDDLE_BASE_URL: url, HEDDLE_PROJECT: project };
    const account = { HEDDLE_USERNAME: 'bot', HEDDLE_PASSWORD: passwords.get('bot')! };
    const bot = await connectClient(emptyHome(temporaryFolder(), { ...connection, ...account }));
    const judgeByAgent = async (): Promise<boolean> => {
      const { items, as_of } = await bot.call('claim_queue_items', { queue_id, n: 20 });
      const judged = items.map(({ id }: { id: string }) => {
        return { item_id: id, judgements: { helpful: false }, annotation_state: 'completed' };
      });
      if (judged.length === 0) return false;
      const { counts } = await bot.call('update_queue_items', { queue_id, items: judged, as_of });
      expect(counts).toEqual({ done: judged.length });
      return true;
    };
    const pages = await Promise.all(
      people.map(async (name) => {
        const context = await browser.newContext({ viewport: { width: 800, height: 900 }, locale: 'en-GB' });
        onEnd(() => context.close());
        const page = await context.newPage();
        await page.goto(`${url}/board/?project=${encodeURIComponent(project)}&queue=${queue_id}`);
        await page.locator('input[name=name]').fill(name);
        await page.locator('input[name=password]').fill(passwords.get(name)!);
        await page.getByRole('button', { name: 'Log in' }).click();
        await hear(page, /^20 items to judge; more follow\.$/);
        return page;
      }),
    );

    const [ann, ben] = pages as [Page, Page];
    for (let judged = 0; judged < 19; judged += 1)
      await Promise.all([ann.keyboard.press('1'), ben.keyboard.press('2')]);
    await ann.keyboard.press('Enter');
    child.kill('SIGKILL');
    await ben.keyboard.press('Enter');
    expect(await hear(ben, /written/)).toMatch(/^0 items written\./);
    await start();
    for (;;) {
      const turns = await Promise.all([judgeByAgent(), ...pages.map(takeTurn)]);
      if (turns.every((didJudge) => !didJudge)) break;
    }
    const given = await execute(
      data,
      "select count(*) as opinions, count(distinct annotator_user_id) as accounts from annotator_progress where annotation_state = 'completed' group by item_id",
    );
    expect(given.map(({ opinions, accounts }) => [Number(opinions), Number(accounts)])).toEqual(
      Array(itemCount).fill([2, 2]),
    );
    expect(await execute(data, 'select item_id from item_claims')).toEqual([]);
  });
});
