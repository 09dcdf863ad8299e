import { describe, expect, it } from 'vitest';
import { connectClient } from '../../support/client.ts';
import { importItems } from '../../support/import-items.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { countTokens } from './clients.ts';

const annotators = ['ana', 'ben', 'cleo'];

/** Imports 165 items with 986 judgements: three annotators on two fields, and one annotator on the last item. */
function importJudged(): Promise<Record<string, string>> {
  return importItems(
    Array.from({ length: 165 }, (_, number) => ({
      call_id: `call-${number}`,
      call_op_name: 'answer',
      call_trace_id: `trace-${number}`,
      call_started_at: new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString(),
      call: { inputs: { question: `Question ${number}` }, output: 'Answer' },
      judgements: (number < 164 ? annotators : annotators.slice(0, 1)).flatMap((annotator, place) => [
        { field: 'severity', value: ((number + place) % 5) + 1, annotator, judged_at: '2026-01-02T00:00:00Z' },
        { field: 'correct', value: (number + place) % 2 === 0, annotator, judged_at: '2026-01-02T00:00:00Z' },
      ]),
    })),
  );
}

describe.skipIf(!installedPath('model-clients', 'gpt-tokenizer'))('986 judgements', () => {
  it('are read in at most 9,000 tokens of text', async () => {
    const { call } = await connectClient(await importJudged());
    let [judgements, tokens, offset]: [number, number, number | undefined] = [0, 0, 0];
    while (offset !== undefined) {
      const page = await call('query_queue_items', { queue_id: 'q', include_judgements: true, limit: 200, offset });
      for (const item of page.items) {
        const given = Object.values<object>({ ...page.common, ...item }.judgements);
        judgements += given.reduce((sum, values) => sum + Object.keys(values).length, 0);
      }
      tokens += await countTokens(page.text);
      offset = page.next_offset;
    }
    expect(judgements).toBe(986);
    expect(tokens).toBeLessThanOrEqual(9_000);
  });
});
