import { beforeAll, describe, expect, it } from 'vitest';
import { importItems } from '../../support/import-items.ts';
import { type ConversationOptions, claudeCode, codex, converse, type ModelClient } from './clients.ts';

/** Imports 200 items with long values into the queue `q`, and returns the home. */
async function homeWithLongValues(sentence: string): Promise<string> {
  const value = (number: number) => `${number}: ${sentence.repeat(50)}`.slice(0, 500);
  const environment = await importItems(
    Array.from({ length: 200 }, (_, number) => ({
      call_id: `call-${number}`,
      call_op_name: 'answer',
      call_trace_id: `trace-${number}`,
      call_started_at: new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString(),
      display_fields: ['inputs.question', 'output'],
      call: { inputs: { question: value(number) }, output: value(number + 1_000) },
    })),
  );
  return environment.HOME!;
}

let english: string;
let japanese: string;
beforeAll(async () => {
  english = await homeWithLongValues('Why does the invoice of March show the plan twice? ');
  japanese = await homeWithLongValues('三月の請求書にプランが二回記載されているのはなぜですか。');
});

/** Returns the first result of a model that reads a page of 200 items with their values. */
async function readPage(client: ModelClient, home: string, options?: ConversationOptions) {
  const args = { queue_id: 'q', limit: 200, include_call: true };
  const { last, others } = await converse(client, home, [() => ({ tool: 'query_queue_items', args })], options);
  return { text: last.results[0]!.text, others };
}

describe.each<ModelClient>([claudeCode, codex])('$title', (client) => {
  it.skipIf(!client.program).each([
    ['English', () => english, 35],
    ['Japanese', () => japanese, 12],
  ])('shows its model a complete page of the default size, in %s', async (_, home, count) => {
    const { text } = await readPage(client, home());
    const { items, next_offset } = JSON.parse(text);
    expect(items).toHaveLength(count);
    expect(items.at(-1).call_id).toBe(`call-${count - 1}`);
    expect(next_offset).toBe(count);
  });
});

describe.skipIf(!claudeCode.program)('Claude Code, with a higher limit in heddle', () => {
  it('saves a result of more than 50,000 characters to a file and shows its beginning', async () => {
    const { text } = await readPage(claudeCode, english, { settings: { HEDDLE_MAX_RESULT_CHARS: '60000' } });
    expect(text).toMatch(/^<persisted-output>\nOutput too large \([\d.]+KB\)\. Full output saved to: /);
    expect(text).toContain('Preview (first 2KB):\n{"items":[{"id":"');
  });

  it('saves a result of more than 25,000 tokens to a file and shows only the path', async () => {
    const settings = { HEDDLE_MAX_RESULT_CHARS: '400000' };
    const { text, others } = await readPage(claudeCode, english, { settings });
    expect(text).toMatch(
      /^Error: result \(2\d\d,\d{3} characters\) exceeds maximum allowed tokens\. Output has been saved to /,
    );
    expect(others).toEqual(['POST /v1/messages/count_tokens']);
  });
});

describe.skipIf(!codex.program)('Codex', () => {
  it('removes the middle of a result of more than 48,000 bytes, and reports a wrong number of removed tokens', async () => {
    const { text } = await readPage(codex, english, { settings: { HEDDLE_MAX_RESULT_CHARS: '400000' } });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(48_100);
    expect(text).toMatch(/…7 tokens truncated…/);
  });

  it('removes the middle of a result of more than 12,000 bytes for an unknown model', async () => {
    const cut = await readPage(codex, english, { isUnknownModel: true });
    expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(12_100);
    expect(cut.text).toMatch(/…7 tokens truncated…/);

    const settings = { HEDDLE_MAX_RESULT_CHARS: '10000' };
    const { text } = await readPage(codex, english, { isUnknownModel: true, settings });
    expect(JSON.parse(text)).toMatchObject({ next_offset: 8 });
  });
});
