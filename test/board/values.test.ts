import { h } from 'preact';
import { describe, expect, it } from 'vitest';
import { Formats } from '../../src/board/view/shared/theme.ts';
import { visibleText } from '../../src/board/view/shared/visible-text.ts';
import { Differences } from '../../src/board/view/values/differences.ts';
import { markdownView } from '../../src/board/view/values/markdown.ts';
import { ValueView } from '../../src/board/view/values/value-view.ts';
import { drawnHtml } from '../support/drawn.ts';

const formats = new Formats({ locale: 'en' });
const markdown = (text: string): string => drawnHtml(markdownView(text));
const value = (shown: unknown, more: { foldedChars?: number; isRaw?: boolean } = {}): string =>
  drawnHtml(h(ValueView, { value: shown, formats, foldedChars: 1000, ...more }));

describe('markdownView', () => {
  it('draws headings, emphasis, code, quotes, lists and rules', () => {
    expect(
      markdown('# Plan\n\nTake **two** of *these*, then `run`:\n\n1. one\n2. two\n   - inner\n\n> quoted\n\n---'),
    ).toBe(
      '<p class="heading heading-1">Plan</p><p>Take <strong>two</strong> of <em>these</em>, then <code>run</code>:</p>' +
        '<ol><li><p>one</p></li><li><p>two</p><ul><li><p>inner</p></li></ul></li></ol>' +
        '<blockquote><p>quoted</p></blockquote><hr></hr>',
    );
  });

  it('draws code between fences as it is written', () => {
    expect(markdown('```js\nif (a < b) [c](d) & *e*\n```')).toBe('<pre class="code">if (a < b) [c](d) & *e*</pre>');
  });

  it('draws tables', () => {
    expect(markdown('| Day | Dose |\n|---|--:|\n| Mon | **2** |\n| a \\| b |')).toBe(
      '<div class="scrolled"><table><thead><tr><th>Day</th><th>Dose</th></tr></thead>' +
        '<tbody><tr><td>Mon</td><td><strong>2</strong></td></tr><tr><td>a | b</td></tr></tbody></table></div>',
    );
  });

  it('shows links and pictures as text with their address', () => {
    expect(markdown('See [the *rules*](https://example.com/a_b_c).')).toBe(
      '<p>See [the <em>rules</em>](https://example.com/a_b_c).</p>',
    );
    expect(markdown('See [the rules](https://example.com/a_b_c).')).toBe(
      '<p>See <span class="link">the rules</span><span class="address"> (https://example.com/a_b_c)</span>.</p>',
    );
    expect(markdown('![map](http://127.0.0.1/x.png)')).toBe(
      '<p><span class="link">Picture: map</span><span class="address"> (http://127.0.0.1/x.png)</span></p>',
    );
  });

  it('leaves HTML, addresses in angle brackets, definitions and character references as they are written', () => {
    const text =
      '**a** <img src=x onerror=alert(1)> <https://example.com> &lt; &#65;\n\n[b]: http://x "c"\n\n<script>\nx';
    expect(markdown(text)).toBe(
      '<p><strong>a</strong> <img src=x onerror=alert(1)> <https://example.com> &lt; &#65;</p><p>[b]: http://x "c"</p><p><script>\nx</p>',
    );
  });

  it.each([
    'two lines\n  and spaces',
    '5 * 3, snake_case, **open and `open',
    `${'> '.repeat(20_000)}deep`,
    'a private \u{f8e0} character **here**',
  ])('leaves text without Markdown, or too deep for it, alone: %#', (text) => {
    expect(markdownView(text)).toBeUndefined();
  });

  it('draws deeply nested emphasis as text', () => {
    const text = `${'*a _b '.repeat(5000)}${'c_ d* '.repeat(5000)}`;
    const drawn = markdown(text);
    expect(drawn.match(/<em>/g)).toHaveLength(39);
    expect(drawn.replaceAll(/<[^>]*>/g, '').replaceAll(/\s/g, '')).toBe('ab'.repeat(5000) + 'cd'.repeat(5000));
  });

  it('gives a table without cells no cells, however many columns its head has', () => {
    const drawn = markdown(`${'|a'.repeat(2000)}|\n${'|-'.repeat(2000)}|\n${'|\n'.repeat(2000)}`);
    expect(drawn.match(/<th>/g)).toHaveLength(2000);
    expect(drawn.match(/<td>/g)).toBeNull();
  });
});

describe('visibleText', () => {
  it('keeps joiners in scripts that need them and in emoji, and marks them elsewhere', () => {
    for (const text of ['می‌خواهم', 'क्‍ष', '👩‍👩‍👧', '👩🏽‍⚕️']) expect(drawnHtml(visibleText(text))).toBe(text);
    expect(drawnHtml(visibleText('pass\u200dword'))).toBe('pass<span class="invisible">U+200D</span>word');
    expect(drawnHtml(visibleText('👩\u200dx'))).toBe('👩<span class="invisible">U+200D</span>x');
  });
});

describe('ValueView', () => {
  it('draws the messages of a chat with their tool calls', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'find_order', arguments: '{"id":7}' } };
    const messages = [
      { role: 'user', content: 'Where is **it**?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'on its way' },
    ];
    expect(value(messages)).toBe(
      '<div class="value"><div class="talk">' +
        '<div class="message"><p class="role">User</p><div class="markdown"><p>Where is <strong>it</strong>?</p></div></div>' +
        '<div class="message"><p class="role">Assistant</p><div class="tool"><p class="role">Calls the tool <code>find_order</code></p>' +
        '<pre class="code">{\n  "id": 7\n}</pre></div></div>' +
        '<div class="message"><p class="role">Tool result</p><div class="text">on its way</div>' +
        '<details class="more"><summary>Other members</summary><pre class="code">{\n  "tool_call_id": "c1"\n}</pre></details></div>' +
        '</div></div>',
    );
  });

  it('draws the reply in the response of a model, and the parts that other providers send', () => {
    expect(value({ choices: [{ message: { role: 'assistant', content: 'Yes.' } }], model: 'm' })).toContain(
      '<div class="text">Yes.</div>',
    );
    const content = [
      { type: 'text', text: 'One' },
      { type: 'tool_use', name: 'look', input: { at: 1 } },
      { type: 'tool_result', content: [{ type: 'text', text: 'seen' }] },
    ];
    const drawn = value([{ role: 'assistant', content }]);
    expect(drawn).toContain('Calls the tool <code>look</code>');
    expect(drawn).toContain('<p class="role">Tool result</p><div class="text">seen</div>');
  });

  it('shows the last three messages of a long talk, and says how many came before', () => {
    const messages = Array.from({ length: 20 }, (_, index) => ({ role: 'user', content: `message ${index + 1}` }));
    const drawn = value(messages);
    expect(drawn).toContain('Show 17 earlier messages');
    expect([...drawn.matchAll(/message \d+/g)].map(([text]) => text)).toEqual([
      'message 18',
      'message 19',
      'message 20',
    ]);
  });

  it('lists the members of a small object, and writes a larger one as JSON', () => {
    expect(value({ ok: true, name: 'a' })).toContain(
      '<dl class="members"><dt>ok</dt><dd>true</dd><dt>name</dt><dd>a</dd></dl>',
    );
    expect(value({ list: [1] })).toContain('<pre class="code">{\n  "list": [\n    1\n  ]\n}</pre>');
  });

  it('folds a long text at a word', () => {
    const drawn = value('word '.repeat(1000));
    expect(drawn).toContain('Show all 5,000 characters');
    expect(drawn.length).toBeLessThan(1200);
  });

  it('shows text as it is written when asked', () => {
    expect(value('a **b**', { isRaw: true })).toContain('<div class="text">a **b**</div>');
  });

  it('does not indent deeply nested JSON', () => {
    expect(value({ a: JSON.parse('['.repeat(200) + ']'.repeat(200)) }, { foldedChars: 10_000 })).toContain(
      `{"a":${'['.repeat(200)}`,
    );
  });
});

describe('Differences', () => {
  it('marks the words that differ', () => {
    expect(drawnHtml(h(Differences, { from: 'It takes 5 days.', to: 'It takes 14 business days.' }))).toBe(
      '<div class="text differences">It takes <del>5</del><ins>14</ins> <ins>business </ins>days.</div>',
    );
  });

  it('says so when texts are the same or have too little in common', () => {
    expect(drawnHtml(h(Differences, { from: 'a', to: 'a' }))).toContain('Both are the same.');
    expect(drawnHtml(h(Differences, { from: 'one two', to: 'three' }))).toContain('too little in common');
    expect(drawnHtml(h(Differences, { from: 'a b '.repeat(9000), to: 'c' }))).toContain('too little in common');
  });
});
