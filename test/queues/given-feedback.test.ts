import { describe, expect, it } from 'vitest';
import type { ServiceClient } from '../../src/client/service-client.ts';
import { givenFeedback, judgementLine } from '../../src/queues/given-feedback.ts';

const feedback = (id: string, feedback_type: string, payload: Record<string, unknown>, wb_user_id = 'ana') => ({
  id,
  weave_ref: 'weave:///team/project/call/c1',
  feedback_type,
  payload,
  created_at: `2026-01-01T00:00:0${id}`,
  wb_user_id,
});

/** A queue whose account is not known. */
const queue = { id: 'q', project: 'team/project', service: { facts: {} } as ServiceClient, clientName: undefined };

const given = [
  feedback('1', 'wandb.annotation.severity', { value: 4 }),
  feedback('2', 'wandb.annotation.severity', { value: 5 }),
  feedback('3', 'wandb.annotation.correct', { value: true }),
  feedback('4', 'wandb.annotation.severity', { value: 1 }, 'ben'),
  feedback('5', 'wandb.note.1', { note: 'Harmless.' }, 'ben'),
  feedback('6', 'heddle.gold.severity', { value: 4, reason: 'No harm was done.' }, 'ben'),
];

describe('givenFeedback', () => {
  it('has the latest judgements by annotator and field, and gold apart from them', () => {
    expect(givenFeedback(given, {}, queue).get('c1')).toEqual({
      judgements: { ana: { severity: 5, correct: true }, ben: { severity: 1 } },
      gold: { severity: 4 },
      gold_reasons: { severity: 'No harm was done.' },
      gold_by: { severity: 'ben' },
      notes: { ben: ['Harmless.'] },
      judged_at: {
        ana: { severity: '2026-01-01T00:00:02Z', correct: '2026-01-01T00:00:03Z' },
        ben: { severity: '2026-01-01T00:00:04Z' },
      },
    });
  });

  it.each([
    [{ judged_by: 'ben' }, { ben: { severity: 1 } }],
    [{ field: 'correct' }, { ana: { correct: true } }],
    [{ field: 'severity', value: 5 }, { ana: { severity: 5 } }],
  ])('has only the judgements that %j selects', (filter, judgements) => {
    expect(givenFeedback(given, filter, queue).get('c1')!.judgements).toEqual(judgements);
  });

  it('keeps annotators and fields with names that objects have already', () => {
    const inherited = feedback('7', 'wandb.annotation.__proto__', { value: 1 }, 'constructor');
    const { judgements } = givenFeedback([inherited], {}, queue).get('c1')!;
    expect(JSON.stringify(judgements)).toBe('{"constructor":{"__proto__":1}}');
  });
});

describe('judgementLine', () => {
  it('writes a line of all annotators, and quotes what could be read as something else', () => {
    expect(judgementLine({ ana: { severity: 5, correct: true }, ben: { severity: 4 } })).toBe(
      'ana: severity=5 correct=true; ben: severity=4',
    );
    expect(judgementLine({ 'ana: x': { topic: 'a; ben: b', tone: 'kind', count: '5', list: ['a b'] } })).toBe(
      '"ana: x": topic="a; ben: b" tone=kind count="5" list=["a b"]',
    );
    expect(judgementLine({})).toBe('none');
  });
});
