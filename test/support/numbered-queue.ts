import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { emptyHome, run, temporaryFolder } from './heddle.ts';

/** Imports `count` recorded calls, `call-0` and on, into the queue `q` of demo/support; returns the environment. */
export async function importNumberedQueue(count: number): Promise<Record<string, string>> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder);
  const lines = Array.from({ length: count }, (_, number) =>
    JSON.stringify({
      call_id: `call-${number}`,
      call_op_name: 'answer',
      call_trace_id: `trace-${number}`,
      call_started_at: new Date(Date.UTC(2026, 0, 1, 0, number)).toISOString(),
      display_fields: ['inputs.question', 'output.texts[1]', 'output.nothing'],
      call: { inputs: { question: `Question ${number}?` }, output: { texts: ['no', `x`.repeat(1000)] } },
    }),
  );
  const file = join(folder, 'items.jsonl');
  writeFileSync(file, lines.join('\n'));
  const { code } = await run(['service', 'import', file, '--project', 'demo/support', '--queue', 'q'], environment);
  expect(code).toBe(0);
  return environment;
}
