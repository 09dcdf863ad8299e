import { expect } from 'vitest';
import { type ConnectedClient, connectClient } from './client.ts';
import { emptyHome, temporaryFolder } from './heddle.ts';
import { startScriptedModel } from './scripted-model.ts';

/** Runs of one evaluation that the embedded service has made. */
export interface ComparedRuns {
  /** The environment of the commands that read the runs. */
  environment: Record<string, string>;
  baseline: string;
  changed: string;
  client: ConnectedClient;
  /** Lets the model reply to prompts that it holds back, which begin with "Wait". Row 3 of one that begins with "Fail" fails. */
  release: () => void;
}

/** Rows of the dataset. */
export const rowCount = 60;
const longText = 'x'.repeat(20_000);

/** Values of the first rows that a page must show and not run. */
export const hostile = {
  markup: '<img src=x onerror="parent.postMessage(1)"><script>window.ran=1</script>',
  hidden: 'a\u202eb\u200b\u200b\u200bc',
};

/**
 * Makes two runs of 60 rows with a scripted model. From the baseline to the changed prompt, `exact` gets better in the 30
 * even rows and worse in 6 odd ones, and every score of the judge changes; its scores have many values, and those of
 * `tone` are labels. Rows 0 and 2 have hostile values, and the answers to row 1 are long.
 */
export async function makeComparedRuns(): Promise<ComparedRuns> {
  const waiting: (() => void)[] = [];
  let isReleased = false;
  const model = await startScriptedModel(
    async ({ model: name, messages }, response) => {
      const text = messages.at(-1)!.content;
      const row = Number(/row (\d+)/.exec(text)?.[1] ?? 0);
      const isChanged = text.includes('Think');
      if (text.startsWith('Wait') && row > 1 && !isReleased)
        await new Promise<void>((resolve) => waiting.push(resolve));
      if (text.startsWith('Fail') && row === 3) {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: 'Row <b>3</b> is refused' } }));
        return undefined;
      }
      if (name === 'judge') {
        const score = Math.min(1, (row % 20) / 20 + (isChanged ? 0.05 : 0));
        return JSON.stringify({ reasoning: `Row ${row} was judged. `.repeat(60), score });
      }
      if (name === 'listener')
        return JSON.stringify({ reasoning: `Heard ${row}.`, score: isChanged ? 'kind' : 'curt' });
      const thought = isChanged ? 'Think' : 'Guess';
      if (row === 1) return `answer ${row} by ${thought} in row ${row}: ${longText}`;
      const isRight = isChanged ? row % 10 !== 3 : row % 2 === 1;
      return `${isRight ? `answer ${row}` : 'no idea'} by ${thought} in row ${row}`;
    },
    ['helper', 'judge', 'listener'],
  );
  const environment = emptyHome(temporaryFolder(), {
    HEDDLE_MODEL_PROVIDER_URL: model.url,
    // The default would cut a page of these rows.
    HEDDLE_MAX_RESULT_CHARS: '1000000',
  });
  const client = await connectClient(environment);
  const rows = Array.from({ length: rowCount }, (_, row) => ({
    question: `row ${row}: ${row === 0 ? hostile.markup : row === 2 ? hostile.hidden : `Question ${row}?`}`,
    expected: `answer ${row}`,
    liked: row % 2 === 1,
  }));
  const succeed = async (tool: string, args: Record<string, unknown>) => {
    const result = await client.call(tool, args);
    expect(result.error, tool).toBeUndefined();
    return result;
  };
  const { dataset_ref } = await succeed('create_dataset', { name: 'questions', rows });
  const judge = (name: string, judgeModel: string, scale: object) =>
    succeed('create_scorer', { name, kind: 'llm_judge', model: judgeModel, prompt: '{output}', scale });
  const scorers = [
    await succeed('create_scorer', { name: 'exact', kind: 'contains', expected: 'expected' }),
    await judge('judge', 'judge', { type: 'number', min: 0, max: 1 }),
    await judge('tone', 'listener', { type: 'choice', choices: ['kind', 'curt'] }),
  ].map(({ scorer_ref }) => scorer_ref);
  await succeed('create_evaluation', { name: 'quality', dataset: dataset_ref, scorers });
  const run = async (prompt: string): Promise<string> => {
    const args = { evaluation: 'quality', model: 'helper', prompt, confirm: true, concurrency: 16 };
    const { run_id, status } = await succeed('run_evaluation', args);
    expect(status).toBe('complete');
    return run_id;
  };
  const baseline = await run('Guess {question}');
  const changed = await run('Think {question}');
  const release = (): void => {
    isReleased = true;
    for (const resolve of waiting.splice(0)) resolve();
  };
  return { environment, baseline, changed, client, release };
}
