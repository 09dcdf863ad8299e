import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import record from './promptfoo/verdicts.json' with { type: 'json' };

interface RecordedRow {
  /** Number of the prompt, from 0. */
  prompt: number;
  /** Description of the test, or its variables where one test gives several rows. */
  test?: string;
  vars?: Record<string, unknown>;
  /** Whether each assertion passed, by its metric. */
  verdicts: Record<string, boolean>;
}

interface ShownRow {
  inputs: Record<string, unknown>;
  scores: Record<string, unknown>;
}

const folder = join(import.meta.dirname, 'promptfoo');
const configurations = Object.entries(record.configurations as unknown as Record<string, RecordedRow[]>);

/** The assertions that heddle does not take, by configuration and metric. */
const notTaken = new Set(['regex lookahead', 'lists-of-variables code']);

function isOf({ inputs }: ShownRow, { test, vars = {} }: RecordedRow): boolean {
  return test === undefined
    ? Object.entries(vars).every(([name, value]) => inputs[name] === value)
    : inputs.id === test;
}

/** Returns the verdict of a metric: those of several scorers, of which each scores the rows that it is for. */
function verdictOf({ scores }: ShownRow, metric: string): boolean | undefined {
  const plain = (name: string): string => name.replace(/\.passed$/, '').replaceAll(/[\d_-]/g, '');
  const verdicts = Object.entries(scores).flatMap(([scorer, score]) =>
    plain(scorer) === plain(metric) && typeof score === 'boolean' ? [score] : [],
  );
  return verdicts.length === 0 ? undefined : verdicts.every(Boolean);
}

describe('heddle evaluation import', () => {
  it.each(configurations)('gives the verdicts of promptfoo for %s', async (name, recorded) => {
    const { url } = await startScriptedModel(({ messages }) => String(messages.at(-1)!.content), ['small']);
    const environment = emptyHome(temporaryFolder(), { HEDDLE_MODEL_PROVIDER_URL: url });
    const file = join(temporaryFolder(), 'evaluation.yaml');
    const imported = await run(['evaluation', 'import', join(folder, `${name}.yaml`), '--out', file], environment);
    expect(imported.code, imported.stderr).toBe(0);
    const result = await run(['evaluation', 'run', '--config', file, '--model', 'small'], environment);
    expect(result.code, result.stderr).toBe(0);
    const rows: ShownRow[] = JSON.parse(result.stdout).rows;
    // The first of two prompts is a program in the language of templates.
    const expected = recorded
      .filter(({ prompt }) => name !== 'variables' || prompt === 1)
      .map((row) => ({
        ...row,
        verdicts: Object.entries(row.verdicts).filter(([metric]) => !notTaken.has(`${name} ${metric}`)),
      }));
    const found = expected.map((row) => {
      const shown = rows.find((one) => isOf(one, row as unknown as RecordedRow))!;
      return { ...row, verdicts: row.verdicts.map(([metric]) => [metric, verdictOf(shown, metric)]) };
    });
    expect(found).toEqual(expected);
  });

  it('says line by line what it could not take, and stores nothing', async () => {
    const home = temporaryFolder();
    const file = join(temporaryFolder(), 'promptfooconfig.yaml');
    writeFileSync(
      file,
      `description: Support
prompts:
  - 'Answer {{question | upper}}'
  - '[{"role": "system", "content": "Be {kind}."}, {"role": "user", "content": "{{question}}"}]'
providers:
  - openai:chat:gpt-4o
  - id: anthropic:messages:claude-sonnet
    config: {temperature: 0}
  - exec:./model.sh
defaultTest:
  options: {provider: openai:gpt-4o-mini, transform: output.trim()}
tests:
  - vars: {question: 'Refund?'}
    assert:
      - {type: llm-rubric, value: 'is polite about {{question}}'}
      - {type: not-llm-rubric, value: is rude}
      - {type: similar, value: yes}
      - {type: python, value: len(output)}
      - {type: cost, threshold: 0.01, weight: 2}
  - vars: {question: 'Hours?'}
    assert:
      - {type: contains, value: 'nine'}
outputPath: results.json
`,
    );
    const { code, stdout, stderr } = await run(['evaluation', 'import', file], emptyHome(home));
    expect([code, stderr.trimEnd().split('\n')]).toEqual([
      0,
      [
        `${file}:3: the prompt is not taken: of templates only {{name}} is`,
        `${file}:6: the provider openai:chat:gpt-4o became the model gpt-4o: check its name`,
        `${file}:7: the provider anthropic:messages:claude-sonnet became the model claude-sonnet: check its name`,
        `${file}:7: of the provider anthropic:messages:claude-sonnet, config is not taken`,
        `${file}:9: the provider exec:./model.sh is not taken: it is no model`,
        `${file}:11: options.transform is not taken`,
        `${file}:17: similar is not taken: heddle has no embeddings`,
        `${file}:18: python is not taken: heddle runs no code of a file; a scorer of the kind endpoint asks a program of yours`,
        `${file}:19: weight is not taken: it matters only beside a threshold`,
        `${file}:23: outputPath is not taken`,
      ],
    ]);
    expect(stdout).toContain('models:\n  - gpt-4o\n  - claude-sonnet\n');
    expect(parse(stdout).dataset.rows).toEqual([
      {
        question: 'Refund?',
        assert_1: 'is polite about Refund?',
        assert_2: 'is rude',
        assert_3: true,
      },
      { question: 'Hours?', assert_4: 'nine' },
    ]);
    expect(parse(stdout).scorers.at(-1)).toEqual({
      name: 'contains',
      kind: 'contains',
      expected: 'assert_4',
      options: { only_if: 'assert_4' },
    });
    expect(stdout).toContain('content: Be {{kind}}.');
    expect(stdout).toContain('model: gpt-4o-mini');
  });

  it.each([
    ['prompts: ["{{a}}"]\nproviders: [echo]\ntests: [{vars: {a: b}}]\n', 'has no assertion that could be taken'],
    ['prompts: ["{% if a %}"]\nproviders: [echo]\n', 'no prompt could be taken'],
    ['prompts: [\n', 'line 2: '],
  ])('refuses %j', async (text, message) => {
    const file = join(temporaryFolder(), 'promptfooconfig.yaml');
    writeFileSync(file, text);
    const { code, stderr } = await run(['evaluation', 'import', file], emptyHome(temporaryFolder()));
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
