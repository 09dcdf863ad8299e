import { importItems } from './import-items.ts';

/** Imports `count` recorded calls, `call-0` and on, into the queue `q` of demo/support; returns the environment. */
export function importNumberedQueue(count: number): Promise<Record<string, string>> {
  return importItems(
    Array.from({ length: count }, (_, number) => ({
      call_id: `call-${number}`,
      call_op_name: 'answer',
      call_trace_id: `trace-${number}`,
      call_started_at: new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString(),
      display_fields: ['inputs.question', 'output.texts[1]', 'output.nothing'],
      call: { inputs: { question: `Question ${number}?` }, output: { texts: ['no', `x`.repeat(1000)] } },
    })),
  );
}
