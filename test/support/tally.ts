import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const names = ['faults', 'property runs', 'kill rounds', 'lost', 'doubled', 'crashed', 'hung'] as const;

/** Adds to a count in the closing line of a test run, which covers all test files. */
export function tally(name: (typeof names)[number], count: number): void {
  if (process.env.HEDDLE_TALLY) appendFileSync(process.env.HEDDLE_TALLY, `${JSON.stringify({ name, count })}\n`);
}

/** Prints the closing line of a test run. Runs as a global setup. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-tally-'));
  const file = join(folder, 'tally');
  writeFileSync(file, '');
  process.env.HEDDLE_TALLY = file;
  return () => {
    const sums = new Map<string, number>(names.map((name) => [name, 0]));
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
      const { name, count } = JSON.parse(line) as { name: string; count: number };
      sums.set(name, (sums.get(name) ?? 0) + count);
    }
    rmSync(folder, { recursive: true });
    const counts = [...sums].map(([name, count]) => `${name} ${count}`).join(', ');
    if ([...sums.values()].some((count) => count > 0)) console.log(`hardening: ${counts}`);
  };
}
