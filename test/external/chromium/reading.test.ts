import { beforeAll, describe, expect, it } from 'vitest';
import { startBoard } from '../../support/board.ts';
import {
  accessibilityFindings,
  type Browser,
  hasChromium,
  type Page,
  says,
  startChromium,
} from '../../support/chromium.ts';
import { call } from '../../support/heddle.ts';
import { importItems } from '../../support/import-items.ts';
import { onEnd } from '../../support/on-end.ts';

let browser: Browser;

const answer = `## Dosage

Give **paracetamol 500 mg** up to *four times* a day.

| Weight | Single dose | Maximum a day |
|---|--:|--:|
| 40 to 50 kg | 500 mg | 2 g |
| over 50 kg | 1 g | 4 g |

- Leave at least **4 hours** between doses.
- Stop, and call a doctor, when the skin turns yellow.

> Never exceed the maximum.

More in [the leaflet](https://example.com/leaflet).
`;

const hostile =
  'A **b** <img src=x onerror="window.ran=1"> ![x](https://example.com/x.png) [y](javascript:window.ran=1)';

const talk = [
  { role: 'system', content: 'You advise tenants. Cite the clause that you rely on.' },
  ...Array.from({ length: 30 }, (_, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content: `${n + 1}. What counts as reasonable notice, and does it differ for repairs? `.repeat(6),
  })),
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', function: { name: 'search_lease', arguments: '{"clause":"7.2"}' } }],
  },
  { role: 'tool', tool_call_id: 'c', content: '7.2 The landlord may enter at any time in an emergency.' },
  { role: 'user', content: 'So they may just come in? What must they tell me afterwards?' },
];

const calls = [
  {
    display_fields: ['inputs.question', 'output'],
    call: { inputs: { question: 'How much paracetamol may a patient of 70 kg take, and how often?' }, output: answer },
  },
  {
    display_fields: ['inputs.messages', 'output'],
    call: {
      inputs: { messages: talk },
      output:
        'Yes. Under **clause 7.2** they may enter without notice in an emergency. Afterwards they must say\n\n1. when they entered, and why,\n2. what was done.',
    },
  },
  {
    display_fields: ['inputs.question', 'inputs.expected_answer', 'output'],
    call: { inputs: { question: 'How long?', expected_answer: 'At most 96 hours.' }, output: 'At most 72 hours.' },
  },
  {
    display_fields: ['inputs.question', 'output'],
    call: { inputs: { question: 'Which one?' }, output: null, exception: 'TimeoutError: no answer' },
  },
  { display_fields: ['output'], call: { inputs: {}, output: hostile } },
].map((each, n) => ({
  call_id: `call-${n}`,
  call_op_name: 'nurse.advise',
  call_trace_id: 't',
  call_started_at: `2026-01-12T09:00:0${n}Z`,
  ...each,
}));

/** Creates the queue `Nurse review`, and returns its environment. */
async function createQueue(): Promise<Record<string, string>> {
  const environment = await importItems(calls);
  const fields = [
    { name: 'correct', type: 'boolean', description: 'Would you sign it?' },
    { name: 'severity', type: 'integer', min: 1, max: 5 },
    { name: 'corrected_answer', type: 'string' },
  ];
  const guidelines = 'Judge as if it went to a patient.';
  const { queue_id } = (await call('create_queue', { name: 'Nurse review', guidelines, fields }, environment)).result;
  for (const { call_id, display_fields } of calls)
    await call('add_queue_items', { queue_id, call_ids: [call_id], display_fields }, environment);
  return environment;
}

async function open(options: Record<string, unknown> = {}, queue = ['Nurse review']): Promise<Page> {
  const { url } = await startBoard(queue, await createQueue());
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', ...options });
  onEnd(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  if (queue.length > 0) await says(page, '5 items to judge.');
  return page;
}

const isInView = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate(`{
    const { top, bottom, width } = document.querySelector('${selector}').getBoundingClientRect();
    width > 0 && top >= 0 && bottom <= innerHeight + 1;
  }`);

describe.skipIf(!hasChromium)('the review board as a page to read', () => {
  beforeAll(async () => {
    browser = await startChromium();
  });

  it('shows one item with its Markdown drawn and nothing loaded, and the output apart from the inputs', async () => {
    const page = await open();
    expect(await page.locator('article').count()).toBe(1);
    expect(await page.locator('article h2').innerText()).toBe('1 of 5 to do');
    expect(await page.locator('.inputs dt').allInnerTexts()).toEqual(['question']);
    const output = page.locator('.output');
    expect(await output.locator('.heading').innerText()).toBe('Dosage');
    expect(await output.locator('td').allInnerTexts()).toEqual([
      '40 to 50 kg',
      '500 mg',
      '2 g',
      'over 50 kg',
      '1 g',
      '4 g',
    ]);
    expect(await output.innerText()).toContain('More in the leaflet (https://example.com/leaflet).');
    await page.getByRole('checkbox', { name: 'Text as written' }).check();
    expect(await output.innerText()).toContain('## Dosage');
  });

  it('shows HTML, pictures and links in a text without running or loading anything', async () => {
    const page = await open();
    const requests: string[] = [];
    page.on('request', (request: never) => requests.push((request as { url(): string }).url()));
    for (let item = 1; item < 5; item += 1) await page.keyboard.press('ArrowDown');
    expect(await page.locator('.output .markdown').innerText()).toBe(
      'A b <img src=x onerror="window.ran=1"> Picture: x (https://example.com/x.png) y (javascript:window.ran=1)',
    );
    expect(await page.locator('article a, article img, article iframe').count()).toBe(0);
    expect(await page.evaluate('window.ran')).toBeUndefined();
    expect(requests.filter((url) => !url.startsWith('http://127.0.0.1'))).toEqual([]);
  });

  it('shows the end of a long talk, differences to the expected answer, and why a call failed', async () => {
    const page = await open();
    await page.keyboard.press('ArrowDown');
    await page.getByText('So they may just come in?').waitFor();
    expect(await page.locator('.earlier').innerText()).toBe('Show 31 earlier messages');
    expect(await page.locator('.tool .role').innerText()).toBe('Calls the tool search_lease');
    await page.locator('.earlier').click();
    expect(await page.locator('.message').count()).toBe(34);
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('.comparison del').allInnerTexts()).toEqual(['96']);
    expect(await page.locator('.comparison ins').allInnerTexts()).toEqual(['72']);
    await page.getByRole('button', { name: 'Begin with the output' }).click();
    expect(await page.locator('.controls textarea').first().inputValue()).toBe('At most 72 hours.');
    expect(await page.getByRole('button', { name: /^Write/ }).count()).toBe(0);
    await page.locator('.controls textarea').first().fill('At most 96 hours.');
    expect(await page.locator('.controls ins').allInnerTexts()).toEqual(['96']);
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('.failure').innerText()).toBe('TimeoutError: no answer');
    expect(await page.locator('.output').count()).toBe(0);
  });

  it.each([
    ['beside the values', 1280],
    ['at the bottom edge', 390],
  ])('keeps the controls %s in view while the values scroll, at %i px', async (_place, width) => {
    const page = await open({ viewport: { width, height: 700 } });
    await page.keyboard.press('ArrowDown');
    await page.locator('.earlier').click();
    for (const y of [0, 600, 100_000]) {
      await page.evaluate(
        `scrollTo(0, ${y}); new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`,
      );
      for (const part of ['.controls', '.status', '.progress', '.bar [aria-expanded]'])
        expect(await isInView(page, part), `${part} at ${y}`).toBe(true);
    }
  });

  it('folds finished items in the list, and says at the end what is done and what happens with it', async () => {
    const page = await open();
    for (let item = 0; item < 5; item += 1) for (const key of ['1', '3']) await page.keyboard.press(key);
    expect(await page.locator('.end h2').innerText()).toBe('You are through all 5');
    await page.keyboard.press('l');
    expect(await page.locator('.folded').count()).toBe(5);
    expect(await page.locator('.summary').first().innerText()).toContain('How much paracetamol');
    expect(await page.locator('.summary').first().locator('span').count()).toBe(2);
    expect(await page.locator('.summary b').first().innerText()).toBe('correct: Yes');
    const places = await page.evaluate(
      "[...document.querySelectorAll('.summary span:nth-of-type(2)')].map((output) => output.getBoundingClientRect().x)",
    );
    // One call has failed, and has no output.
    expect([places.length, new Set(places).size]).toEqual([4, 1]);
    // All items are of one operation.
    expect(await page.locator('.origin').count()).toBe(0);
    await page.keyboard.press('l');
    await page.keyboard.press('Enter');
    await says(page, '5 items written.');
    expect(await page.locator('.end h2').innerText()).toBe('All 5 done');
    expect(await page.locator('.end').innerText()).toContain('Your judgements are stored under');
    expect(await page.locator('.end code').innerText()).toMatch(
      /^node dist\/heddle\.js queue export .* --out Nurse_review-judgements\.csv/,
    );
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Choose another queue' }).click();
    await says(page, 'Choose a queue.');
    expect(
      await page.locator('.queues tbody tr').filter({ hasText: 'Nurse review' }).locator('td').allInnerTexts(),
    ).toEqual(['done', '5']);
  });

  it.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['forced colours', { forcedColors: 'active' }],
    ['320 px', { viewport: { width: 320, height: 640 } }],
    ['200 %', { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 }],
  ])('has no accessibility findings and no horizontal scrolling with %s', async (_name, options) => {
    const page = await open(options);
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'l']) {
      expect(await accessibilityFindings(page), `before ${key}`).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      await page.keyboard.press(key);
    }
    expect(await accessibilityFindings(page), 'in the list').toEqual([]);
  });

  // The pictures in docs/board.md. HEDDLE_SCREENSHOTS names the folder to write them into; docs has them as lossless WebP,
  // which is smaller: cwebp -lossless -z 9.
  const judgeAll = Array.from({ length: 5 }, () => ['1', '3']).flat();
  it.each([
    ['light', {}, []],
    ['dark', { colorScheme: 'dark' }, []],
    ['talk', {}, ['ArrowDown']],
    ['difference', {}, ['ArrowDown', 'ArrowDown', '2']],
    ['end', {}, [...judgeAll, 'Enter']],
    ['narrow', { viewport: { width: 390, height: 780 } }, []],
  ] as [string, Record<string, unknown>, string[]][])(
    'looks the same as in the documentation: %s',
    async (name, options, keys) => {
      const page = await open({ viewport: { width: 1180, height: 760 }, ...options });
      for (const key of keys) await page.keyboard.press(key);
      if (name === 'end') await says(page, '5 items written.');
      if (name === 'talk') await page.getByText('So they may just come in?').waitFor();
      const folder = process.env.HEDDLE_SCREENSHOTS;
      const picture = await page.screenshot({ ...(folder && { path: `${folder}/board-${name}.png` }) });
      // A page without content compresses to less.
      expect(picture.length).toBeGreaterThan(15_000);
      const [ground] = await page.evaluate(
        'getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)',
      );
      expect(ground > 128).toBe(name !== 'dark');
    },
  );
});
