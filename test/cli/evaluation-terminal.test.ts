import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { interruptedRun } from '../../src/cli/commands/evaluation/follow-run.ts';
import { call, command, emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { controlC, converse, hasTerminal } from '../support/pseudo-terminal.ts';
import { startScriptedModel } from '../support/scripted-model.ts';

/** Each test starts heddle several times. */
const manyStarts = { timeout: 120_000 };

const questions = ['first', 'second', 'third'];

/** Stores an evaluation of three questions in an empty home, with a scripted model behind the embedded service. */
async function prepare(modelProvider: string): Promise<Record<string, string>> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder, { HEDDLE_MODEL_PROVIDER_URL: modelProvider });
  const file = join(folder, 'rows.jsonl');
  writeFileSync(file, questions.map((question) => JSON.stringify({ question, wanted: 'yes' })).join('\n'));
  await run(['service', 'put-dataset', 'rows', file, '--project', 'demo/support'], environment);
  const scorer = await call('create_scorer', { name: 'Says yes', kind: 'contains', expected: 'wanted' }, environment);
  const definition = {
    name: 'Yes',
    dataset: 'weave:///demo/support/object/rows:latest',
    scorers: [scorer.result.scorer_ref],
  };
  expect((await call('create_evaluation', definition, environment)).code).toBe(0);
  return environment;
}

const runArgs = ['evaluation', 'run', 'Yes', '--model', 'small', '--prompt', '{question}', '--concurrency', '1'];

/** Returns what is left on the screen, and the id of the run. */
function read(screen: string): { shown: string; runId: string } {
  const shown = stripVTControlCharacters(screen).replaceAll('\r', '\n');
  return { shown, runId: /^run_id (\S+)$/m.exec(shown)![1]! };
}

describe.skipIf(!hasTerminal)('heddle evaluation at a terminal', manyStarts, () => {
  it('draws a bar while a run goes on, then the results as a table', async () => {
    const model = await startScriptedModel(() => 'yes');
    const environment = await prepare(model.url);
    const { code, screen } = await converse(runArgs, environment);
    const { shown } = read(screen);
    expect(code).toBe(0);
    expect(shown).toMatch(/predictions \[[#.]{30}\] \d of 3/);
    expect(shown).toMatch(/^says_yes +100% of 3 passed$/m);
    // The bar is removed before the table.
    expect(screen.lastIndexOf('predictions [')).toBeLessThan(screen.lastIndexOf('\r\u001b[K'));
  });

  it('cancels the run on Ctrl-C, and says how far it came and how to go on', async () => {
    const model = await startScriptedModel(({ messages }) => (messages[0]!.content === 'first' ? 'yes' : undefined));
    const environment = await prepare(model.url);
    const { code, screen } = await converse(runArgs, environment, [['1 of 3', controlC]]);
    const { shown, runId } = read(screen);
    expect(code).toBe(3);
    expect(shown).toContain(`heddle: The run ${runId} was cancelled after 1 of 3 predictions.`);
    expect(shown).toContain(`\`heddle evaluation show ${runId}\` prints what was done until then.`);
    const after = await run(['evaluation', 'show', runId, '--table'], environment);
    expect(after.code).toBe(3);
    expect(after.stdout).toContain('first');
    expect(after.stderr).toMatch(/is failed: Cancelled by/);
    expect(model.underWay).toBe(0);
  });
});

describe('interruptedRun', () => {
  const project = 'acme/support';
  it.each([
    [
      'failed',
      'The run r1 was cancelled after 1 of 3 predictions.',
      '`heddle evaluation show r1` prints what was done',
    ],
    ['complete', 'The run r1 was complete before it could be cancelled.', '`heddle evaluation show r1` prints the'],
    [
      'running',
      'The run r1 could not be cancelled and goes on.',
      '`heddle evaluation show r1 --wait` waits for its end',
    ],
  ])('tells what has become of a run that is %s', async (code, message, hint) => {
    const service = { evaluationStatus: async () => ({ status: { code } }) };
    const serverOptions = { project, service: async () => service } as never;
    const error = await interruptedRun({ runId: 'r1', done: 1, total: 3 }, serverOptions);
    expect(error).toMatchObject({ code: 'cancelled', message, hint: expect.stringContaining(hint) });
  });

  it('says why the service could not be asked', async () => {
    const service = (): Promise<never> => Promise.reject(new Error('The service cannot be reached.'));
    const error = await interruptedRun({ runId: 'r1', done: 1, total: 3 }, { project, service } as never);
    expect(error.message).toBe('The run r1 may go on: its state could not be read. The service cannot be reached.');
  });
});

describe('heddle evaluation in a pipe', manyStarts, () => {
  it('prints JSON, and tables with --table', async () => {
    const model = await startScriptedModel(() => 'yes');
    const environment = await prepare(model.url);
    const plan = await run([...runArgs, '--dry-run'], environment);
    expect(JSON.parse(plan.stdout)).toMatchObject({ status: 'dry_run', predictions: 3 });
    const result = JSON.parse((await run(runArgs, environment)).stdout);
    expect(result).toMatchObject({ passed: true, rows: [{}, {}, {}] });
    const [{ run_id }] = result.runs;
    const list = ['evaluation', 'list', 'Yes'];
    expect(JSON.parse((await run(list, environment)).stdout)).toMatchObject({ runs: [{ run_id }] });
    expect((await run([...list, '--table'], environment)).stdout).toMatch(/^run +status +started/);
    const other = JSON.parse((await run([...runArgs.slice(0, 6), 'Say: {question}'], environment)).stdout);
    const compare = ['evaluation', 'compare', run_id, other.runs[0].run_id];
    expect(JSON.parse((await run(compare, environment)).stdout)).toMatchObject({ comparisons: [{ shared_rows: 3 }] });
    expect((await run([...compare, '--table'], environment)).stdout).toMatch(/^scorer +better +worse +same/m);
    expect((await run(['evaluation', 'show', run_id, '--table', '--json'], environment)).stderr).toContain(
      "option '--table' cannot be used with option '--json'",
    );
  });

  it('waits with --wait for a run whose process was killed', async () => {
    let isKilled = false;
    let child: ChildProcess | undefined;
    const model = await startScriptedModel(({ messages }) => {
      if (messages[0]!.content === 'first' || isKilled) return 'yes';
      isKilled = child!.kill('SIGKILL');
      return undefined;
    });
    const environment = await prepare(model.url);
    child = spawn(process.execPath, [command, ...runArgs], { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
    const { runId } = read(await text(child.stderr!));
    if (hasTerminal) {
      const shown = await converse(['evaluation', 'show', runId, '--wait'], environment, [['of 3', controlC]]);
      expect(stripVTControlCharacters(shown.screen)).toContain(
        `heddle: Stopped waiting for the run ${runId}, which is not cancelled.`,
      );
      expect(shown.code).toBe(3);
    }
    const waited = await run(['evaluation', 'show', runId, '--wait'], environment);
    expect(waited.code, waited.stderr).toBe(0);
    expect(JSON.parse(waited.stdout).runs).toMatchObject([{ run_id: runId, status: 'complete', predictions: 3 }]);
  });
});
