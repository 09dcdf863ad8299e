import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

const long = 'x'.repeat(5000);

it('exports whole rows of a run as JSONL, CSV that no spreadsheet runs, and HTML without scripts', async () => {
  const { url } = await startScriptedModel(({ messages }) => `${messages.at(-1)!.content}${long}`, ['small']);
  const environment = emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: url });
  const file = join(temporaryFolder(), 'evaluation.json');
  const evaluation = {
    name: 'Exported',
    dataset: { rows: [{ q: '=1+1', '<b>': { n: 1 } }, { q: '<script>alert("1")</script>' }] },
    scorers: [
      { name: 'Sum', kind: 'contains', expected: 'q' },
      { name: 'None', kind: 'equals', expected: '<b>' },
    ],
    models: ['small'],
    prompts: ['{q}'],
  };
  writeFileSync(file, JSON.stringify(evaluation));
  const result = await run(['evaluation', 'run', '--config', file, '--baseline', 'main'], environment);
  expect(result.code, result.stderr).toBe(0);
  const [{ run_id }] = JSON.parse(result.stdout).runs;

  const jsonl = await run(['evaluation', 'export', run_id], environment);
  const lines = jsonl.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.sort((a, b) => (a.inputs.q < b.inputs.q ? -1 : 1))).toEqual([
    expect.objectContaining({
      inputs: { q: '<script>alert("1")</script>' },
      trial: 1,
      output: `<script>alert("1")</script>${long}`,
      scores: { sum: true },
      scorer_errors: { none: 'The row has no column <b>.' },
    }),
    expect.objectContaining({
      inputs: { q: '=1+1', '<b>': { n: 1 } },
      output: `=1+1${long}`,
      scores: { sum: true, none: false },
    }),
  ]);

  const csv = await run(['evaluation', 'export', run_id, '--format', 'csv'], environment);
  expect(csv.stderr).toBe('2 cells that a spreadsheet would run as a formula got an apostrophe in front.\n');
  expect(csv.stdout).toContain(`'=1+1${long}`);
  expect(csv.stdout).toContain('"{""n"":1}"');
  expect(csv.stdout.split('\r\n')[0]!.split(',').sort().slice(0, 6)).toEqual([
    'call_id',
    'inputs.<b>',
    'inputs.q',
    'latency_seconds',
    'output',
    'scorer_errors.none',
  ]);

  const page = join(temporaryFolder(), 'page.html');
  const html = await run(['evaluation', 'export', 'main', '--format', 'html', '--out', page], environment);
  expect([html.code, html.stdout]).toEqual([0, '']);
  const text = readFileSync(page, 'utf8');
  expect(text).toContain(`<td>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;${long}</td>`);
  expect(text).toContain('<td>sum</td><td>100% (34.2 to 100) of 2 passed</td>');
  expect(text).toContain('<td>passed</td>');
  expect(text).toContain('<td class="failed">not passed</td>');
  expect(text).not.toMatch(/<td>(?:true|false)<\/td>/);
  expect(text).not.toMatch(/<script|https?:|<b>/);
  expect(statSync(page).mode & 0o777).toBe(0o600);

  const unknown = await run(['evaluation', 'export', 'none'], environment);
  expect([unknown.code, unknown.stdout]).toEqual([2, '']);
});
