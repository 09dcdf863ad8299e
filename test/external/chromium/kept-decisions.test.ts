import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { startBoard } from '../../support/board.ts';
import { type Browser, hasChromium, type Page, progressSays, says, startChromium } from '../../support/chromium.ts';
import { execute, startTestService, withStore } from '../../support/embedded-service.ts';
import { call, command, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { importItems } from '../../support/import-items.ts';
import { onEnd } from '../../support/on-end.ts';

let browser: Browser;

type Context = Awaited<ReturnType<Browser['newContext']>>;

async function openContext(): Promise<Context> {
  const context = await browser.newContext({ viewport: { width: 800, height: 900 }, locale: 'en-GB' });
  onEnd(() => context.close());
  return context;
}

async function openTab(context: Context, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Creates a queue of the calls `call-0`, `call-1`, … with fields, and returns its id. */
async function createQueue(count: number, fields: object[], environment: Record<string, string>): Promise<string> {
  const { queue_id } = (await call('create_queue', { name: 'Nurse review', fields }, environment)).result;
  const call_ids = Array.from({ length: count }, (_, n) => `call-${n}`);
  const items = { queue_id, call_ids, display_fields: ['output'], confirm: true };
  expect((await call('add_queue_items', items, environment)).result).toMatchObject({ added: count });
  return queue_id;
}

const importCalls = (count: number) =>
  importItems(
    Array.from({ length: count }, (_, n) => ({
      call_id: `call-${n}`,
      call_op_name: 'support.answer',
      call_trace_id: 't',
      call_started_at: '2026-01-12T09:00:00Z',
      display_fields: ['output'],
      call: { output: `answer ${n}` },
    })),
  );

/** Returns the judgements that are stored, as `annotator field=value`, by call, in the order of the queue. */
async function storedJudgements(queue_id: string, environment: Record<string, string>): Promise<Map<string, string[]>> {
  const args = { queue_id, include_judgements: true, fields: ['call_id'], limit: 300 };
  const { result } = await call('query_queue_items', args, environment);
  return new Map(
    result.items.map((item: { call_id: string; judgements?: Record<string, object> }) => [
      item.call_id,
      Object.values(item.judgements ?? {})
        .flatMap((values) => Object.entries(values))
        .map(([field, value]) => `${field}=${value}`)
        .sort(),
    ]),
  );
}

/** Starts `heddle board` as a process, to kill it. */
async function startBoardProcess(args: string[], env: Record<string, string>): Promise<[url: string, ChildProcess]> {
  const child = spawn(process.execPath, [command, 'board', '--no-open', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onEnd(() => child.kill('SIGKILL'));
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += chunk;
    const [url] = /http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+(?=[\s\S]*Ctrl-C)/.exec(output) ?? [];
    if (url) return [url, child];
  }
  throw new Error(`the board has ended: ${output}`);
}

const answer = (n: number): boolean => n % 3 !== 0;
const keyFor = (n: number): string => (answer(n) ? '1' : '2');

describe.skipIf(!hasChromium)('what is decided on the board and not written', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('survives a reload, a closed tab and a killed command: 60 items by keys are 60 judgements, none changed', async () => {
    const environment = await importCalls(60);
    const queue_id = await createQueue(60, [{ name: 'helpful', type: 'boolean' }], environment);
    const [firstUrl, child] = await startBoardProcess([queue_id], environment);
    const context = await openContext();
    let page = await openTab(context, firstUrl);
    await says(page, '20 items to judge; more follow.');
    let judged = 0;
    const judgeUntil = async (end: number): Promise<void> => {
      for (; judged < end; judged += 1) await page.keyboard.press(keyFor(judged));
    };
    await judgeUntil(20);
    await page.reload();
    await says(page, 'Restored what you decided about 20 items and did not write.');
    await judgeUntil(30);
    await page.close();
    page = await openTab(context, firstUrl);
    await says(page, 'Restored what you decided about 30 items and did not write.');
    await judgeUntil(33);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const ended = 'heddle has ended. What you decided is kept in this browser.';
    await page.getByText(ended).waitFor();
    // Nothing has to wait for the command.
    await judgeUntil(38);
    const [secondUrl] = await startBoardProcess([queue_id], environment);
    expect(new URL(secondUrl).port).toBe(new URL(firstUrl).port);
    const second = await openTab(context, secondUrl);
    await says(second, 'Restored what you decided about 38 items and did not write.');
    // The tab that was open goes on by itself.
    await says(page, 'heddle runs again. You can go on.');
    expect(await page.getByText(ended).count()).toBe(0);
    await judgeUntil(60);
    await says(page, 'This was the last item. Press Enter to write 60 items.');
    // After the last item, a key decides nothing.
    await page.keyboard.press('2');
    await page.keyboard.press('Enter');
    await says(page, 'Press Enter or the button once more to write all 60 items.');
    await page.keyboard.press('Enter');
    await says(page, '60 items written.');
    const expected = Array.from({ length: 60 }, (_, n) => [`call-${n}`, [`helpful=${answer(n)}`]]);
    expect([...(await storedJudgements(queue_id, environment))]).toEqual(expected);
    await page.reload();
    await says(page, 'Nothing is left to do: 60 items finished.');
    expect(
      await page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('heddle-draft')).length"),
    ).toBe(0);
  });

  it('leads back to an item that lacks a value, also after a click on List', async () => {
    const environment = await importCalls(3);
    const fields = ['helpful', 'polite'].map((name) => ({ name, type: 'boolean' }));
    const queue_id = await createQueue(3, fields, environment);
    const page = await openTab(await openContext(), (await startBoard([queue_id], environment)).url);
    await says(page, '3 items to judge.');
    await page.keyboard.press('1');
    await page.reload();
    await says(page, 'Restored what you decided about 1 item and did not write.');
    expect(await page.locator('article h2').innerText()).toBe('1 of 3 to do');
    await page.keyboard.press('1');
    for (const name of ['List', 'One at a time', 'List']) await page.getByRole('button', { name }).click();
    await page.keyboard.press('Enter');
    await says(page, '1 item written.');
    expect(await page.locator('article').count()).toBe(3);
    for (let n = 0; n < 2; n += 1) {
      await page
        .locator('article')
        .nth(n + 1)
        .focus();
      await page.keyboard.press('1');
      await page.keyboard.press('1');
    }
    await says(page, 'This was the last item. Press Enter to write 2 items.');
    // Also where no item is the current one.
    await page.getByRole('button', { name: 'One at a time' }).click();
    await page.keyboard.press('Enter');
    await says(page, '2 items written.');
  });

  it('is what was meant, with four fields an item and 30 ms between the keys', async () => {
    const environment = await importCalls(55);
    const fields = [
      { name: 'helpful', type: 'boolean' },
      { name: 'tone', type: 'choice', choices: ['kind', 'neutral', 'rude'] },
      { name: 'score', type: 'integer', min: 1, max: 5 },
      { name: 'pain', type: 'integer', min: 0, max: 10 },
    ];
    const queue_id = await createQueue(55, fields, environment);
    const { url } = await startBoard([queue_id], environment);
    const page = await openTab(await openContext(), url);
    await says(page, '20 items to judge; more follow.');
    const keysOf = (n: number): string => `${1 + (n % 2)}${1 + (n % 3)}${1 + (n % 5)}${n % 10}`;
    const keys = Array.from({ length: 55 }, (_, n) => keysOf(n)).join('');
    await page.keyboard.type(keys, { delay: 30 });
    await says(page, 'This was the last item. Press Enter to write 55 items.');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await says(page, '55 items written.');
    const expected = Array.from({ length: 55 }, (_, n) => [
      `call-${n}`,
      [
        `helpful=${n % 2 === 0}`,
        `pain=${n % 10}`,
        `score=${1 + (n % 5)}`,
        `tone=${['kind', 'neutral', 'rude'][n % 3]}`,
      ],
    ]);
    expect([...(await storedJudgements(queue_id, environment))]).toEqual(expected);
  });

  it('is taken back with u and Ctrl+Z wherever it was decided, and a held key decides once', async () => {
    const { url } = await startBoard(['support-triage'], emptyHome(temporaryFolder()));
    const page = await openTab(await openContext(), url);
    await says(page, '9 items to judge.');
    const focused = () => page.evaluate("document.activeElement.getAttribute('aria-posinset')");
    const pressed = () => page.locator('article[data-decided=staged]').count();
    await page.keyboard.press('l');
    await page.keyboard.press('1');
    await page.keyboard.press('2');
    expect([await focused(), await pressed()]).toEqual(['3', 2]);
    await page.keyboard.press('u');
    expect([await focused(), await pressed()]).toEqual(['2', 1]);
    await says(page, 'Taken back: helpful No.');
    await page.keyboard.press('Control+z');
    expect([await focused(), await pressed()]).toEqual(['1', 0]);
    await page.keyboard.press('u');
    await says(page, 'There is nothing to take back.');
    // The browser repeats a key that is held.
    await page.keyboard.down('1');
    await page.keyboard.down('1');
    await page.keyboard.down('1');
    await page.keyboard.up('1');
    expect([await focused(), await pressed()]).toEqual(['2', 1]);
  });

  it('is the same in two tabs, and the browser asks before it leaves them', async () => {
    const { url } = await startBoard(['support-triage'], emptyHome(temporaryFolder()));
    const context = await openContext();
    const first = await openTab(context, url);
    await says(first, '9 items to judge.');
    const asked: string[] = [];
    first.on('dialog', ((dialog: { type(): string; accept(): Promise<void> }) => {
      asked.push(dialog.type());
      void dialog.accept();
    }) as (dialog: never) => void);
    await first.reload();
    await says(first, '9 items to judge.');
    expect(asked).toEqual([]);
    const second = await openTab(context, url);
    await says(second, '9 items to judge.');
    for (const tab of [first, second]) await tab.keyboard.press('l');
    await first.keyboard.press('1');
    await second.locator('article').first().locator('button.choice[aria-pressed=true]').waitFor();
    await second.locator('article').nth(1).focus();
    await second.keyboard.press('2');
    await first.locator('article').nth(1).locator('button.choice[aria-pressed=true]').waitFor();
    await first.reload();
    expect(asked).toEqual(['beforeunload']);
    await says(first, 'Restored what you decided about 2 items and did not write.');
    await first.keyboard.press('Enter');
    await says(first, '2 items written.');
    await second.getByRole('button', { name: /^Write/ }).waitFor({ state: 'hidden' });
  });
});

describe.skipIf(!hasChromium)('what is to do on the board', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('is what each of two judges has not finished, one after the other and at the same time', async () => {
    const service = await startTestService({ sample: true });
    const queue_id = 'support-triage';
    await execute(service.data, `update queues set reviewers_per_item = '3' where id = '${queue_id}'`);
    const openAs = async (name: string) => {
      const { password } = await withStore(service.data, (store) => store.addUser(name, 'all'));
      const environment = emptyHome(temporaryFolder(), {
        HEDDLE_BASE_URL: service.running.url,
        HEDDLE_USERNAME: name,
        HEDDLE_PASSWORD: password,
        HEDDLE_PROJECT: 'demo/support',
      });
      const { url } = await startBoard([queue_id], environment);
      const page = await openTab(await openContext(), url);
      await says(page, '9 items to judge.');
      return { page, environment };
    };
    const ada = await openAs('ada');
    for (const key of '111111111') await ada.page.keyboard.press(key);
    await ada.page.keyboard.press('Enter');
    await says(ada.page, '9 items written.');
    await ada.page.getByRole('button', { name: 'Refresh' }).click();
    await says(ada.page, '12 items finished, but 2 without helpful.');
    // The second judge has everything to do, and sees nothing of what the first has judged.
    const ben = await openAs('ben');
    const cleo = await openAs('cleo');
    expect(await ben.page.getByText(/completed|You judged|Yes ✓/).count()).toBe(0);
    await progressSays(ben.page, '3 of 12 items finished by you; 3 opinions each');
    for (const { page } of [ben, cleo]) for (const key of '222222222') await page.keyboard.press(key);
    await Promise.all([ben.page.keyboard.press('Enter'), cleo.page.keyboard.press('Enter')]);
    await says(ben.page, '9 items written.');
    await says(cleo.page, '9 items written.');
    const judgements = [...(await storedJudgements(queue_id, ada.environment)).values()].filter(
      ({ length }) => length > 0,
    );
    expect(judgements).toHaveLength(9);
    expect(new Set(judgements.map((each) => each.join(' ')))).toEqual(
      new Set(['helpful=false helpful=false helpful=true']),
    );
  });

  it('begins with what to judge in a queue without fields, which makes a field', async () => {
    const environment = await importCalls(2);
    const { url } = await startBoard(['q'], environment);
    const page = await openTab(await openContext(), url);
    await says(page, '2 items to judge.');
    await page.getByRole('heading', { name: 'What do you want to judge?' }).waitFor();
    await page.getByRole('button', { name: 'Begin' }).click();
    await says(page, 'Give what you judge a name, such as helpful.');
    await page.locator('form input').fill('Tone of voice');
    await page.locator('form select').selectOption('choice');
    await page.locator('form input').nth(1).fill('kind, rude');
    await page.keyboard.press('Enter');
    await says(page, 'You judge Tone_of_voice.');
    for (const key of ['2', '1', 'Enter']) await page.keyboard.press(key);
    await says(page, '2 items written.');
    const { result } = await call('list_queues', { name: 'q' }, environment);
    expect(result.queues[0]).toMatchObject({
      fields: [{ name: 'Tone_of_voice', choices: ['kind', 'rude'] }],
      remaining: 0,
    });
    expect([...(await storedJudgements('q', environment)).values()]).toEqual([
      ['Tone_of_voice=rude'],
      ['Tone_of_voice=kind'],
    ]);
  });
});
