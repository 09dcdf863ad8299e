import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { toolNames } from '../../pins/tools.ts';
import {
  compareOutcome,
  endlessFaults,
  type Fault,
  type FaultOutcome,
  otherFaults,
  startFaultService,
} from '../../support/fault-table.ts';
import { tally } from '../../support/tally.ts';
import { startToolProcess, type ToolProcess } from '../../support/tool-server.ts';

const casesOf = (faults: Fault[]) => faults.flatMap((fault) => toolNames.map((tool) => ({ fault, tool })));

/** Returns the outcomes that are not what the table says, as text. */
function wrong(outcomes: FaultOutcome[]): string[] {
  return outcomes.flatMap((met) => {
    const { actual, wanted } = compareOutcome(met);
    if (isDeepStrictEqual(actual, wanted)) return [];
    return [`${met.tool} after ${met.fault.name}: ${actual.sent} requests, ${JSON.stringify(met.outcome)}`];
  });
}

function socketsOf({ pid }: ToolProcess): number {
  const files = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return files.filter((file) => file.startsWith('socket:')).length;
}

function peakKbOf({ pid }: ToolProcess): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

it('a server keeps working with few sockets and limited memory while its service fails in every way', async () => {
  const { service, run } = await startFaultService();
  const [server, impatientServer] = await Promise.all([
    // Both deadlines leave time for large responses, and for those before a fault, on a busy machine.
    startToolProcess(service.url, { HEDDLE_TIMEOUT_MS: '85000', HEDDLE_INFERENCE_TIMEOUT_MS: '85000' }),
    startToolProcess(service.url, { HEDDLE_TIMEOUT_MS: '12000', HEDDLE_INFERENCE_TIMEOUT_MS: '12000' }),
  ]);
  onTestFinished(() => Promise.all([server.client.close(), impatientServer.client.close()]).then(() => {}));
  // One after the other, so that large responses do not delay those that the deadline ends.
  const outcomes = [
    ...(await run(impatientServer, casesOf(endlessFaults))),
    ...(await run(server, casesOf(otherFaults))),
  ];
  tally('faults', outcomes.length);
  expect(wrong(outcomes).join('\n')).toBe('');
  const noFault = otherFaults.filter(({ name }) => name === 'no fault');
  for (const toolServer of [server, impatientServer]) {
    expect(wrong(await run(toolServer, casesOf(noFault), 1)).join('\n')).toBe('');
    expect(toolServer.log()).not.toContain('"level":"error"');
    if (process.platform === 'linux') {
      expect(socketsOf(toolServer)).toBeLessThanOrEqual(40);
      const peakKb = peakKbOf(toolServer);
      console.log(`peak memory of the server: ${Math.round(peakKb / 1024)} MB`);
      // Thirty calls at once, some of them with responses of 32 MiB: 725 to 920 MB were seen.
      expect(peakKb).toBeLessThan(1_500_000);
    }
  }
}, 480_000);
