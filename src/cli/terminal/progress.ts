import type { Progress } from '../../records/call-context.ts';
import { escapeInvisible } from '../../text/compact-table.ts';
import { invocation } from '../invocation.ts';
import { cut } from './aligned-table.ts';
import { columnsOf } from './terminal.ts';

const barWidth = 30;

/** Streams whose last line is a progress line. */
const streamsWithLine = new WeakSet<object>();

/** Replaces the progress line if stderr is a terminal. An empty text removes it. */
export function showProgress(text: string): void {
  const { stderr } = invocation();
  if (!stderr.isTTY || (text === '' && !streamsWithLine.has(stderr))) return;
  // A line that wraps could not be replaced. The last column stays free, where some terminals wrap already.
  stderr.write(`\r${cut(escapeInvisible(text), columnsOf(stderr) - 1)}\u001b[K`);
  if (text === '') streamsWithLine.delete(stderr);
  else streamsWithLine.add(stderr);
}

/** Draws a bar with its numbers: `writing [####......] 4 of 10`. Without a total, only the number. */
export function drawProgress({ unit, done, total }: Progress): void {
  showProgress(`${unit} ${total === undefined ? done : barOf(done, total)}`);
}

function barOf(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const bar = '#'.repeat(Math.round(share * barWidth)).padEnd(barWidth, '.');
  return `[${bar}] ${done} of ${total}`;
}
