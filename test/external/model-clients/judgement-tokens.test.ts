import { describe, expect, it } from 'vitest';
import { connectClient } from '../../support/client.ts';
import { importItems } from '../../support/import-items.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { countTokens } from './clients.ts';

const annotators = ['ana', 'ben', 'cleo'];

/** Imports 165 items with 986 judgements: three annotators on two fields, and one annotator on the last item. */
function importJudged(isMixed: boolean): Promise<Record<string, string>> {
  return importItems(
    Array.from({ length: 165 }, (_, number) => ({
      call_id: `call-${number}`,
      call_op_name: isMixed && number % 3 === 0 ? 'triage' : 'answer',
      ...(isMixed && number % 4 === 0 && { annotation_state: 'in_progress' as const }),
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
  it.each([
    ['of one operation, in one state,', false],
    ['of two operations, in two states,', true],
  ])('%s are read in at most 9,000 tokens as text, and as structured content', async (_case, isMixed) => {
    const { call } = await connectClient(await importJudged(isMixed));
    let [judgements, inText, structured, offset]: [number, number, number, number | undefined] = [0, 0, 0, 0];
    while (offset !== undefined) {
      const args = { queue_id: 'q', include_judgements: true, limit: 200, offset };
      const { text, ...page } = await call('query_queue_items', args);
      for (const item of page.items) {
        const given = Object.values<object>({ ...page.common, ...item }.judgements);
        judgements += given.reduce((sum, values) => sum + Object.keys(values).length, 0);
      }
      inText += await countTokens(text);
      structured += await countTokens(page);
      offset = page.next_offset;
    }
    expect(judgements).toBe(986);
    expect(inText).toBeLessThanOrEqual(9_000);
    expect(structured).toBeLessThanOrEqual(9_000);
  });
});
