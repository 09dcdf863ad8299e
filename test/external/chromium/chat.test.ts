import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  accessibilityFindings,
  type Browser,
  type Frame,
  hasChromium,
  openChat,
  progressSays,
  says,
  startChatPage,
  startChromium,
} from '../../support/chromium.ts';
import { account, basic, startTestService } from '../../support/embedded-service.ts';
import { call, emptyHome, run, temporaryFolder } from '../../support/heddle.ts';
import { startHttp } from '../../support/http-server.ts';

let browser: Browser;
let chatUrl: string;
/** A server for tests that write nothing. */
let unchanged: string;

/** An item to import, with the values of its recorded call. */
const line = (call_id: string, call: object, display_fields: string[]) => ({
  call_id,
  call_op_name: 'support.answer',
  call_trace_id: `trace-${call_id}`,
  call_started_at: '2026-01-12T09:00:00Z',
  display_fields,
  call,
});

/** Imports items into a new queue of an installation, and returns the environment of its commands. */
async function importQueue(queue: string, lines: object[]): Promise<Record<string, string>> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder);
  const file = join(folder, 'items.jsonl');
  writeFileSync(file, lines.map((each) => JSON.stringify(each)).join('\n'));
  const args = ['service', 'import', file, '--project', 'demo/support', '--queue', queue];
  expect((await run(args, environment)).code).toBe(0);
  return environment;
}

/** Returns what is stored for the calls of a queue, in their order: the state, and what was judged by whom. */
async function stored(queue_id: string, environment: Record<string, string>): Promise<unknown[]> {
  const args = { queue_id, include_judgements: true, fields: ['call_id', 'notes'], limit: 300 };
  const { result } = await call('query_queue_items', args, environment);
  return result.items.map((item: object) => ({ ...result.common, ...item }));
}

/** Sets the focus on the first card, and presses keys. */
async function press(board: Frame, page: { keyboard: { press(key: string): Promise<void> } }, ...keys: string[]) {
  await board.locator('article').first().focus();
  for (const key of keys) await page.keyboard.press(key);
}

/** Arguments with which the model's result has items, as that of an older heddle in a chat that is opened again. */
const withItems = { queue_id: 'support-triage', limit: 20 };

describe.skipIf(!hasChromium)('the review board in a chat', () => {
  beforeAll(async () => {
    [browser, chatUrl, { url: unchanged }] = await Promise.all([startChromium(), startChatPage(), startHttp()]);
  });

  it.each([
    ['legacy', '2025-11-25'],
    ['auto', '2026-07-28'],
  ] as const)('opens, judges and writes in the %s era', async (era, version) => {
    const { url } = await startHttp();
    const { page, board } = await openChat(browser, { server: url, chatUrl, era });
    expect(await page.evaluate('chat.client.getNegotiatedProtocolVersion()')).toBe(version);
    expect(await page.evaluate('chat.client.getServerCapabilities().extensions')).toEqual({
      'io.modelcontextprotocol/skills': {},
      'io.modelcontextprotocol/tasks': {},
      'io.modelcontextprotocol/ui': {},
    });
    await says(board, '9 items to judge.');
    expect(await board.locator('h1').innerText()).toBe('support-triage');
    await page.waitForFunction('chat.calls.length > 2');
    await press(board, page, '1', '2', 's');
    await board.getByRole('button', { name: 'Write 3 items' }).click();
    await says(board, '3 items written.');
    await progressSays(board, '6 of 12 items finished by you');
    await page.waitForFunction('chat.calls.length > 5');
    const calls: { name: string; arguments: Record<string, unknown> }[] = await page.evaluate('chat.calls');
    expect(calls.map(({ name }) => name)).toEqual([
      'claim_queue_items',
      'review_queue',
      'summarize_queue',
      'update_queue_items',
      'review_queue',
      'summarize_queue',
    ]);
    expect(calls[3]!.arguments).toMatchObject({
      queue_id: 'support-triage',
      by_user: true,
      as_of: expect.stringMatching(/^2\d{3}-.*Z$/),
      items: [
        { judgements: { helpful: true }, annotation_state: 'completed' },
        { judgements: { helpful: false }, annotation_state: 'completed' },
        { annotation_state: 'skipped' },
      ],
    });
    const texts: string[] = await page.evaluate('chat.modelContext');
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain('The user judged 3 items of queue support-triage on the review board.');
    expect(texts[0]).toContain('do not write it again');
  });

  it.each([
    ['light at 720 px', 'light', 720],
    ['dark at 720 px', 'dark', 720],
    ['light at 320 px, which 200 % zoom gives at 640 px', 'light', 320],
  ] as const)('has no accessibility findings and no horizontal scrolling in %s', async (_, theme, width) => {
    const { page, board } = await openChat(browser, {
      server: unchanged,
      chatUrl,
      open: { hostContext: { theme } },
      context: { viewport: { width, height: 800 } },
    });
    await says(board, '9 items to judge.');
    await press(board, page, '1', '2', 's');
    for (const summary of ['Note', 'All judgements', 'Keyboard']) {
      await board.locator('summary').filter({ hasText: summary }).first().click();
    }
    await board.getByText('No one has judged this item yet.').waitFor();
    expect(await accessibilityFindings(board)).toEqual([]);
    expect(await board.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  });

  it('shows what is pressed and where the focus is with forced colours, and moves nothing with reduced motion', async () => {
    const { page, board } = await openChat(browser, {
      server: unchanged,
      chatUrl,
      context: { forcedColors: 'active', reducedMotion: 'reduce' },
    });
    await says(board, '9 items to judge.');
    await press(board, page, '1', 'ArrowUp');
    const pressed = board.locator('article').first().locator('button[aria-pressed=true]');
    const other = board.locator('article').first().locator('button[aria-pressed=false]').first();
    // biome-ignore lint/suspicious/noExplicitAny: elements of the page, whose types are unknown here
    const widthOf = (node: any): string => node.ownerDocument.defaultView.getComputedStyle(node).borderTopWidth;
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const durationOf = (node: any): string => node.ownerDocument.defaultView.getComputedStyle(node).transitionDuration;
    expect([await pressed.evaluate(widthOf), await other.evaluate(widthOf)]).toEqual(['3px', '1px']);
    expect(await other.evaluate(durationOf)).toBe('0s');
    expect(await accessibilityFindings(board)).toEqual([]);
  });

  it('shows hostile values as plain text that neither runs nor loads anything', async () => {
    const values = {
      markup: '<img src=x onerror="parent.postMessage(1)"><script>window.ran=1</script></script>',
      hidden: 'a\u202eb\u200b\u200b\u200bc\u{e0041}',
      link: 'https://example.com/a [click](javascript:alert(1))',
      long: 'x'.repeat(30_000),
      image: `data:image/png;base64,${'A'.repeat(500)}`,
      chat: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: 'https://example.com/i.png' } },
          ],
        },
        { role: 'assistant', content: '<b>bold</b>\n```js\nrun()\n```' },
      ],
    };
    const paths = Object.keys(values).map((name) => `inputs.${name}`);
    const environment = await importQueue('hostile', [line('<i>c</i>', { inputs: values }, paths)]);
    const { url } = await startHttp([], environment);
    const requests: string[] = [];
    const { page, board } = await openChat(browser, { server: url, chatUrl, args: { queue_id: 'hostile' } });
    page.on('request', (request: never) => requests.push((request as { url(): string }).url()));
    await says(board, '1 item to judge.');
    const text = await board.locator('.values').innerText();
    expect(text).toContain(values.markup);
    expect(text).toContain('aU+202EbU+200B ×3cU+E0041');
    expect(text).toContain(values.link);
    expect(text).toContain('image/png, 522 characters');
    expect(text).toContain('https://example.com/i.png');
    expect(text).toContain('<b>bold</b>');
    expect(await board.locator('.code').first().innerText()).toBe('run()');
    expect(await board.locator('.values img, .values script, .values a, .values b, .values iframe').count()).toBe(0);
    // The tool has cut the long text; the page loads it whole.
    await board.getByRole('button', { name: 'Show all 30,000 characters' }).click();
    await board.getByRole('button', { name: 'Show less' }).waitFor();
    expect(await board.evaluate("document.body.innerText.includes('x'.repeat(30000))")).toBe(true);
    expect(await board.evaluate('window.ran')).toBeUndefined();
    expect(await board.evaluate("fetch('https://example.com').then(() => 'loaded', () => 'stopped')")).toBe('stopped');
    expect(requests.filter((each) => !each.startsWith('http://127.0.0.1'))).toEqual([]);
  });

  it('says on the card of an item that the person skipped elsewhere what was refused, and shows it as it is now', async () => {
    const service = await startTestService({ sample: true });
    const settings = {
      HEDDLE_BASE_URL: service.running.url,
      HEDDLE_USERNAME: account.name,
      HEDDLE_PASSWORD: account.password,
      HEDDLE_PROJECT: 'demo/support',
    };
    const queue_id = 'support-triage';
    const { url } = await startHttp([], settings);
    const { page, board } = await openChat(browser, { server: url, chatUrl, args: { queue_id } });
    await says(board, '9 items to judge.');
    const environment = emptyHome(temporaryFolder(), settings);
    const filter = { call_id: 'support-0007' };
    const change = { annotation_state: 'skipped' };
    await call('update_queue_items', { queue_id, filter, change, by_user: true }, environment);
    await press(board, page, '1', '1', '1', '1', 'Enter');
    await says(board, '3 items written. Not written: item 4; the card says why.');
    const card = board.locator('article').filter({ hasText: 'You have finished or skipped this item before.' });
    expect(await card.count()).toBe(1);
    expect(await card.getByRole('button', { name: /^Yes/ }).getAttribute('aria-pressed')).toBe('true');
    await card.getByRole('button', { name: 'Look at it again' }).click();
    await says(board, 'Write it again if your judgement stands.');
    await board.getByRole('button', { name: 'Write 1 item' }).click();
    await says(board, '1 item written.');
    const { result } = await call('query_queue_items', { queue_id, filter, include_judgements: true }, environment);
    expect(result.items[0].annotation_state).toBe('skipped');
    expect(Object.values(result.items[0].judgements)).toEqual([{ helpful: true }]);
  });

  it('shows the current state when it is remounted with its earlier result', async () => {
    const { url } = await startHttp();
    const { page, board } = await openChat(browser, { server: url, chatUrl });
    await says(board, '9 items to judge.');
    await press(board, page, '1', '1', 'Enter');
    await says(board, '2 items written.');
    await page.evaluate('chat.mount()');
    const again = page.frames().at(-1)!;
    await says(again, '7 items to judge.');
    await progressSays(again, '5 of 12 items finished by you');
    await again.locator('select').first().selectOption('all');
    await says(again, '12 items found.');
    await again.getByRole('button', { name: 'List' }).click();
    expect(await again.getByText('helpful: Yes').count()).toBe(2);
  });

  it('reports that the chat does not answer, and ignores messages of other windows and messages that are not JSON-RPC', async () => {
    const { page, board } = await openChat(browser, {
      server: unchanged,
      chatUrl,
      args: withItems,
      open: { silent: true },
    });
    const result = { structuredContent: await page.evaluate('chat.last.result.structuredContent') };
    const message = { jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: result };
    const json = JSON.stringify(message);
    await page.evaluate(`{
      const peer = document.body.appendChild(document.createElement('iframe'));
      // The script runs in the other window, which becomes the source of the message.
      const script = peer.contentDocument.createElement('script');
      script.textContent = 'parent.frames[0].postMessage(' + ${JSON.stringify(json)} + ', "*")';
      peer.contentDocument.body.append(script);
      for (const other of [{ ...${json}, jsonrpc: '1.0' }, 'text', null]) frames[0].postMessage(other, '*');
    }`);
    await says(board, 'The chat does not answer.');
    expect(await board.locator('article').count()).toBe(0);
    await page.evaluate(`frames[0].postMessage(${json}, '*')`);
    await says(board, '9 items to judge.');
  });

  it('has no controls in read-only mode', async () => {
    const { url } = await startHttp(['--read-only']);
    const { page, board } = await openChat(browser, { server: url, chatUrl });
    await says(board, '9 items to read. This board is read-only.');
    await press(board, page, '1', 's', 'a', 'Enter');
    expect(await board.locator('article button').allInnerTexts()).toEqual(['Previous', 'Next']);
    expect(await board.locator('article input, article textarea').count()).toBe(0);
    await board.getByRole('button', { name: 'List' }).click();
    expect(await board.locator('article').count()).toBe(9);
    expect(await accessibilityFindings(board)).toEqual([]);
  });

  it('keeps the unwritten judgements when the chat refuses to write', async () => {
    const { page, board } = await openChat(browser, {
      server: unchanged,
      chatUrl,
      args: withItems,
      open: { refuseCalls: true },
    });
    // The page works with the result that it was given, although the chat refuses a fresh one.
    await board.locator('article').first().waitFor();
    await press(board, page, '1', 'Enter');
    await says(board, '0 items written. The chat did not allow this.');
    expect(await board.getByRole('button', { name: 'Write 1 item' }).count()).toBe(1);
    expect(await page.evaluate('chat.modelContext')).toEqual([]);
  });

  it('reports that the call was cancelled or failed', async () => {
    const cancelled = await openChat(browser, {
      server: unchanged,
      chatUrl,
      args: { queue_id: 'none' },
      open: { cancelled: true },
    });
    await says(cancelled.board, /The call was cancelled\.|This no longer exists/);
    const failed = await openChat(browser, { server: unchanged, chatUrl, args: { queue_id: 'none' } });
    await says(failed.board, 'This no longer exists on the service.');
    expect(await failed.board.getByRole('button', { name: 'Try again' }).isVisible()).toBe(true);
  });
});

describe.skipIf(!hasChromium)('the controls of the review board', () => {
  const fields = [
    { name: 'correct', type: 'boolean', description: 'Is every fact right?' },
    { name: 'score', type: 'integer', min: 1, max: 5 },
    { name: 'share', type: 'number', min: 0, max: 1 },
    { name: 'topic', type: 'choice', choices: ['billing', 'bug'] },
    { name: 'comment', type: 'string' },
  ];

  /** Starts a server with a queue of these fields, and returns its URL and the environment of commands. */
  async function startRubric(
    count: number,
  ): Promise<{ server: string; environment: Record<string, string>; queue: string }> {
    const lines = Array.from({ length: count }, (_, n) => line(`rubric-${n}`, { output: `answer ${n}` }, ['output']));
    const environment = await importQueue('answers', lines);
    const { result } = await call('create_queue', { name: 'Rubric', guidelines: 'Judge kindly.', fields }, environment);
    const call_ids = lines.map(({ call_id }) => call_id);
    await call(
      'add_queue_items',
      { queue_id: result.queue_id, call_ids, display_fields: ['output'], confirm: true },
      environment,
    );
    const { url } = await startHttp([], environment);
    return { server: url, environment, queue: result.queue_id };
  }

  it('match the types of the fields, and write several fields of an item together', async () => {
    const { server, environment, queue } = await startRubric(2);
    const { page, board } = await openChat(browser, { server, chatUrl, args: { queue_id: queue } });
    await says(board, '2 items to judge.');
    // They are open for a person who has judged nothing here yet.
    expect(await board.locator('.rules').innerText()).toBe('Judge kindly.');
    await board.getByRole('button', { name: 'Guidelines' }).click();
    expect(await board.locator('.rules').count()).toBe(0);
    const card = board.locator('article').first();
    await press(board, page, '2', '4');
    const share = card.getByRole('spinbutton');
    await share.fill('1.5');
    expect(await card.locator('[role=alert]').filter({ hasText: 'It must be from 0 to 1.' }).count()).toBe(1);
    await share.fill('0.25');
    await card.getByRole('button', { name: /^bug/ }).click();
    await card.getByRole('textbox', { name: 'comment' }).fill('Very kind');
    await card.locator('summary').filter({ hasText: 'Note' }).click();
    await card.getByRole('textbox', { name: 'Note for other people' }).fill('Ask Ada');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await says(board, '1 item written.');
    const [first, second] = (await stored(queue, environment)) as { judgements: object; notes: object }[];
    expect(Object.values(first!.judgements)).toEqual([
      { correct: false, score: 4, share: 0.25, topic: 'bug', comment: 'Very kind' },
    ]);
    expect(Object.values(first!.notes)).toEqual([['Ask Ada']]);
    expect(first).toMatchObject({ annotation_state: 'completed' });
    expect(second).toMatchObject({ annotation_state: 'unstarted' });
  });

  it('leave an item in progress as long as a field has no value, unless the person finishes it', async () => {
    const { server, environment, queue } = await startRubric(2);
    const { page, board } = await openChat(browser, { server, chatUrl, args: { queue_id: queue } });
    await says(board, '2 items to judge.');
    await press(board, page, '1', 'ArrowDown');
    await board.locator('article[aria-posinset="2"]:focus').waitFor();
    for (const key of ['1', 'f']) await page.keyboard.press(key);
    expect(await board.evaluate("document.activeElement.getAttribute('aria-posinset')")).toBe('2');
    await page.keyboard.press('Enter');
    await says(board, '2 items written.');
    const states = (await stored(queue, environment)).map(
      (each) => (each as { annotation_state: string }).annotation_state,
    );
    expect(states).toEqual(['in_progress', 'completed']);
  });

  it('show suggestions of scorers, which count only when the person accepts them', async () => {
    const service = await startTestService({ sample: true });
    const score = (call_id: string, feedback_type: string, output: unknown) =>
      service.send('POST', '/feedback/create', basic, {
        project_id: 'demo/support',
        weave_ref: `weave:///demo/support/call/${call_id}`,
        feedback_type,
        payload: { output },
        runnable_ref: `weave:///demo/support/object/${feedback_type.split('.').at(-1)}:abc`,
      });
    expect((await score('support-0004', 'wandb.runnable.judge', { helpful: false, reason: 'no' })).status).toBe(200);
    expect((await score('support-0005', 'wandb.runnable.helpful', true)).status).toBe(200);
    expect((await score('support-0006', 'wandb.runnable.helpful', 'maybe')).status).toBe(200);
    const settings = {
      HEDDLE_BASE_URL: service.running.url,
      HEDDLE_USERNAME: account.name,
      HEDDLE_PASSWORD: account.password,
      HEDDLE_PROJECT: 'demo/support',
    };
    const { url } = await startHttp([], settings);
    const { page, board } = await openChat(browser, { server: url, chatUrl });
    await says(board, '9 items to judge.');
    await board.getByRole('button', { name: 'List' }).click();
    const suggestions = await board.locator('.suggestion').allInnerTexts();
    expect(suggestions.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      'Suggested by the scorer judge: No Accept',
      'Suggested by the scorer helpful: Yes Accept',
    ]);
    expect(await board.locator('article [aria-pressed=true]').count()).toBe(0);
    const summary = { queue_id: 'support-triage', by: ['field'] };
    const environment = emptyHome(temporaryFolder(), settings);
    expect((await call('summarize_queue', summary, environment)).result.fields ?? []).toEqual([]);
    await press(board, page, 'c', 'Enter');
    await says(board, '1 item written.');
    const filter = { call_id: 'support-0004' };
    const args = { queue_id: 'support-triage', filter, include_judgements: true };
    const { result } = await call('query_queue_items', args, environment);
    expect(result.items[0].judgements).toEqual({ [account.name]: { helpful: false } });
  });

  it('judge all selected items at once, and write more than 20 only on the second press', async () => {
    const { server, environment, queue } = await startRubric(25);
    const { page, board } = await openChat(browser, { server, chatUrl, args: { queue_id: queue } });
    await says(board, '20 items to judge; more follow.');
    await press(board, page, 'l');
    await board.locator('main > button').click();
    await says(board, '25 items to judge.');
    await press(board, page, 'a', 's');
    await says(board, 'skipped, for 25 items');
    await page.keyboard.press('Enter');
    await says(board, 'Press Enter or the button once more to write all 25 items.');
    expect(
      (await stored(queue, environment)).filter(
        (each) => (each as { annotation_state: string }).annotation_state === 'skipped',
      ),
    ).toEqual([]);
    await page.keyboard.press('Enter');
    await says(board, '25 items written.');
    const states = (await stored(queue, environment)).map(
      (each) => (each as { annotation_state: string }).annotation_state,
    );
    expect(new Set(states)).toEqual(new Set(['skipped']));
  });

  it('ignore single keys when they are switched off', async () => {
    const { server, queue } = await startRubric(2);
    const { page, board } = await openChat(browser, { server, chatUrl, args: { queue_id: queue } });
    await says(board, '2 items to judge.');
    await board.locator('summary').filter({ hasText: 'Keyboard' }).click();
    await board.getByRole('checkbox', { name: 'Single keys' }).uncheck();
    await press(board, page, '1', 's', 'x', 'ArrowDown');
    expect(await board.locator('article [aria-pressed=true]').count()).toBe(0);
    expect(await board.locator('article:focus').getAttribute('aria-posinset')).toBe('2');
  });
});
