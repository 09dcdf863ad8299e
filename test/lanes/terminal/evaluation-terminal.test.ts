import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { prepareEvaluation, runArgs } from '../../support/evaluation-command.ts';
import { command, run } from '../../support/heddle.ts';
import { controlC, converse, hasTerminal } from '../../support/pseudo-terminal.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

/** Returns what is left on the screen, and the id of the run. */
function read(screen: string): { shown: string; runId: string } {
  const shown = stripVTControlCharacters(screen).replaceAll('\r', '\n');
  return { shown, runId: /^run_id (\S+)$/m.exec(shown)![1]! };
}

describe.skipIf(!hasTerminal)('heddle evaluation at a terminal', () => {
  it('draws a progress bar during a run, then the results as a table', async () => {
    const model = await startScriptedModel(() => 'yes');
    const environment = await prepareEvaluation(model.url);
    const { code, screen } = await converse(runArgs, environment);
    const { shown } = read(screen);
    expect(code).toBe(0);
    expect(shown).toMatch(/predictions \[[#.]{30}\] \d of 3/);
    expect(shown).toMatch(/^says_yes +100% \(43\.9 to 100\) of 3 passed$/m);
    // The bar is removed before the table.
    expect(screen.lastIndexOf('predictions [')).toBeLessThan(screen.lastIndexOf('\r\u001b[K'));
  });

  it('cancels the run on Ctrl-C, and reports its progress and the command that shows it', async () => {
    const model = await startScriptedModel(({ messages }) => (messages[0]!.content === 'first' ? 'yes' : undefined));
    const environment = await prepareEvaluation(model.url);
    const { code, screen } = await converse(runArgs, environment, [['1 of 3', controlC]]);
    const { shown, runId } = read(screen);
    expect(code).toBe(3);
    expect(shown).toContain(`heddle: The run ${runId} was cancelled after 1 of 3 predictions.`);
    expect(shown).toContain(` evaluation show ${runId}\` prints what was done until then.`);
    const after = await run(['evaluation', 'show', runId, '--table'], environment);
    expect(after.code).toBe(3);
    expect(after.stdout).toContain('first');
    expect(after.stderr).toMatch(/is failed: Cancelled by/);
    expect(model.openRequests).toBe(0);
  });
});

describe('heddle evaluation show --wait', () => {
  it('waits for a run whose process was killed', async () => {
    let isKilled = false;
    const model = await startScriptedModel(({ messages }) =>
      messages[0]!.content === 'first' || isKilled ? 'yes' : undefined,
    );
    const environment = await prepareEvaluation(model.url);
    const child = spawn(process.execPath, [command, ...runArgs], {
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let printed = '';
    for await (const part of child.stderr.setEncoding('utf8')) {
      printed += part;
      if (/^run_id \S+$/m.test(printed)) isKilled = child.kill('SIGKILL');
    }
    const { runId } = read(printed);
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
