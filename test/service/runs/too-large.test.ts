import { describe, expect, it } from 'vitest';
import type { Log } from '../../../src/core/log.ts';
import { execute, startTestService } from '../../support/embedded-service.ts';
import { EvaluationSetup } from '../../support/evaluation-setup.ts';
import { type Script, startScriptedModel } from '../../support/scripted-model.ts';

async function start(script: Script) {
  const logged: string[] = [];
  const log: Log = (level, message) => void (level === 'error' && logged.push(message));
  const model = await startScriptedModel(script);
  const service = await startTestService({ modelProvider: { url: model.url }, log });
  const setup = new EvaluationSetup(service);
  const rows = [{ question: 'a' }, { question: 'b' }];
  const evaluation = await setup.evaluation(await setup.dataset(rows), []);
  const prompt = await setup.model('{question}');
  /** Makes stored values count as larger than the memory of any request. */
  const enlarge = (table: string, condition: string) =>
    execute(service.data, `update ${table} set memory_bytes = 2000000000 where ${condition}`);
  const run = (): Promise<string> => setup.start(evaluation, prompt, { concurrency: 1 });
  return { setup, service, model, logged, enlarge, run };
}

const tooLarge = /^The request needs more than \d+ MiB of memory: use smaller rows$/;

describe('a run of an evaluation', () => {
  it('records a row that is larger than the memory of a request as a failure of that row, once', async () => {
    const { setup, service, model, logged, enlarge, run } = await start(() => 'fine');
    await enlarge('row_contents', `content like '%"b"%'`);
    const id = await run();
    expect(await setup.ended(id)).toMatchObject({ code: 'complete' });
    await execute(service.data, 'update row_contents set memory_bytes = 100');
    expect(await setup.trials(id)).toMatchObject({
      a: { model_output: 'fine', error: null },
      b: { model_output: null, error: expect.stringMatching(tooLarge) },
    });
    expect(model.asked.map(({ messages }) => messages[0]!.content)).toEqual(['a']);
    expect(logged).toEqual([]);
  });

  it('ends as failed when its trials are larger than the memory of a request', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { setup, logged, enlarge, run } = await start(async ({ messages }) => {
      if (messages[0]!.content === 'b') await released;
      return 'fine';
    });
    const id = await run();
    await expect.poll(() => setup.status(id)).toMatchObject({ completed_rows: 1 });
    await enlarge('calls', `parent_id = '${id}'`);
    release();
    expect(await setup.ended(id)).toMatchObject({
      code: 'failed',
      error: expect.stringMatching(/^Its trials were not summarized\. The request needs more than \d+ MiB of memory: /),
    });
    expect(logged).toEqual([]);
  });
});
