import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyHome, type Finished, run, temporaryFolder } from '../support/heddle.ts';

const folder = temporaryFolder();
const item = { call_id: 'c1', call_op_name: 'op', call_trace_id: 't', call_started_at: '2026-01-01T00:00:00Z' };

function importFile(name: string, content: string): Promise<Finished> {
  const path = join(folder, name);
  writeFileSync(path, content);
  return run(['service', 'import', path, '--project', 'p/q', '--queue', 'work'], emptyHome(folder));
}

describe('heddle service import', () => {
  it('names a line that is too large, and stops after 1000 invalid lines', async () => {
    const large = JSON.stringify({ ...item, call: { x: 'x'.repeat(34_000_000) } });
    expect(await importFile('large', `${JSON.stringify(item)}\n${large}`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^heddle: Line 2 of \S+ is larger than 33554432 bytes\.\nNothing was stored/),
    });
    const { code, stderr } = await importFile('many', 'x\n'.repeat(100_000));
    expect(code).toBe(1);
    expect(stderr).toContain('at least 1000 invalid lines, nothing was loaded: line 1: is not JSON; line 2');
    expect(stderr).toContain('line 20: is not JSON; and 980 more');
    const wrong = JSON.stringify({ ...item, display_fields: Array(1000).fill(1) });
    const { stderr: faults } = await importFile('wrong', wrong);
    expect(faults).toContain('1 invalid line, nothing was loaded: line 1: display_fields: 0: ');
    expect(faults.length).toBeLessThan(1000);
  });

  it('accepts lines of several megabytes, Windows line endings and a byte order mark', async () => {
    const large = { ...item, call_id: 'large', call: { x: 'é'.repeat(2_000_000) } };
    const text = `\ufeff${JSON.stringify({ ...item, call_id: 'marked' })}\r\n${JSON.stringify(large)}\r\n`;
    const { code, stdout } = await importFile('windows', text);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2 added, 0 duplicates\n' });
  });
});
