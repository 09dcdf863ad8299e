import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ask, olderRequest, startHttpProcess } from '../../support/http-server.ts';
import { framings, sendLargeBody } from '../../support/large-body.ts';

/** Returns the peak memory of a process in kB. */
function highestMemory(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}

describe('HTTP requests', () => {
  it.skipIf(process.platform !== 'linux').each(framings)(
    'are cut off at the maximum body size without growing memory: 100 MB, %s',
    async (_, framing) => {
      const { url, child } = await startHttpProcess();
      await ask(url, olderRequest('tools/list'));
      const before = highestMemory(child.pid!);
      expect((await sendLargeBody(url, framing)).answer).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\n/);
      expect(highestMemory(child.pid!) - before).toBeLessThan(40 * 1024);
    },
  );
});
