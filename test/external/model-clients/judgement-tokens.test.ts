import { describe, expect, it } from 'vitest';
import { connectClient } from '../../support/client.ts';
import { importItems } from '../../support/import-items.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { countTokens } from './clients.ts';

/** Names of 60 letters, which take many tokens. */
const longNames = ['Qzvxk', 'Wjqpb', 'Xyfgh'].map((start) => start.repeat(12));
const alikeNames = ['x', 'y', 'z'].map((end) => `${'Qzvxk'.repeat(12).slice(1)}${end}`);
const shortNames = ['ana', 'ben', 'cleo'];

/** Imports 165 items with 986 judgements: three annotators on two fields, and one annotator on the last item. */
function importJudged(isMixed: boolean, annotators: readonly string[]): Promise<Record<string, string>> {
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
    ['of one operation, in one state,', false, shortNames],
    ['of two operations, in two states,', true, shortNames],
    ['of an annotator with a long name,', true, ['ana', 'ben', longNames[0]!]],
    ['of annotators with long names,', true, longNames],
    ['of annotators with long names that begin alike,', true, alikeNames],
    ['of annotators with names of 20 letters,', true, longNames.map((name) => name.slice(0, 20))],
  ])('%s are read in at most 9,000 tokens as text, and as structured content', async (_case, isMixed, annotators) => {
    const { call } = await connectClient(await importJudged(isMixed, annotators));
    // Ids begin with the time, whose digits take more or fewer tokens.
    const withSameTime = (result: unknown, [item]: { id: string }[]) =>
      JSON.parse(JSON.stringify(result).replaceAll(item!.id.slice(0, 9), '1k8b21204'));
    let [judgements, inText, structured, offset]: [number, number, number, number | undefined] = [0, 0, 0, 0];
    while (offset !== undefined) {
      const args = { queue_id: 'q', include_judgements: true, limit: 200, offset };
      const { text, ...page } = await call('query_queue_items', args);
      for (const item of page.items) {
        const given = Object.values<object>({ ...page.common, ...item }.judgements);
        judgements += given.reduce((sum, values) => sum + Object.keys(values).length, 0);
      }
      inText += await countTokens(withSameTime(text, page.items));
      structured += await countTokens(withSameTime(page, page.items));
      offset = page.next_offset;
    }
    expect(judgements).toBe(986);
    expect(inText).toBeLessThanOrEqual(9_000);
    expect(structured).toBeLessThanOrEqual(9_000);
  });
});
