import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { tally } from '../support/tally.ts';

const home = temporaryFolder();
const environment = emptyHome(home);
const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
const line = '{"call_id":"c","call_op_name":"o","call_trace_id":"t","call_started_at":"2026-01-01T00:00:00Z"';

/** Writes a file below the home, and returns its path. */
function write(name: string, text: string): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

describe('JSON nested 200,000 levels deep', () => {
  const target = ['--queue', 'q', '--project', 'a/b'];
  const subjects = ['serve', '--http', '--port', '0', '--oauth-issuer', 'http://127.0.0.1:1', '--subjects'];

  it.each([
    [
      'a line to import',
      () => ['service', 'import', write('lines', `${line}}\n\n${line},"call":{"x":${deep}}}`), ...target],
      1,
      'line 3: is nested deeper than 500 levels',
    ],
    [
      'a dataset',
      () => ['service', 'put-dataset', 'd', write('rows', `[{"x":${deep}}]`), '--project', 'a/b'],
      1,
      'is nested deeper than 500 levels',
    ],
    [
      'a row of a dataset',
      () => ['service', 'put-dataset', 'd', write('rows', `{}\n{"x":${deep}}`), '--project', 'a/b'],
      1,
      'is nested deeper than 500 levels',
    ],
    ['arguments of a call', () => ['call', 'read_call', '-'], 2, 'not valid JSON: nested deeper than 500 levels'],
    [
      'the configuration of a client',
      () => {
        write('.cursor/mcp.json', `{"mcpServers":${deep}}`);
        return ['setup', 'cursor'];
      },
      2,
      'The file is nested deeper than 500 levels. It was not changed.',
    ],
    [
      'the subjects file',
      () => [...subjects, write('subjects', `{"subjects":${deep}}`)],
      2,
      'cannot be used: nested deeper than 500 levels',
    ],
    [
      'the configuration file',
      () => {
        write('heddle/config.json', `{"profiles":${deep}}`);
        return ['status'];
      },
      2,
      'cannot be used: nested deeper than 500 levels',
    ],
  ])('is refused in %s', async (_, prepare, code, message) => {
    const finished = await run(prepare(), environment, `{"call_id":${deep}}`);
    expect(finished.stderr).toContain(message);
    expect(finished.stderr).not.toMatch(/RangeError|^\s+at /m);
    expect(finished.code).toBe(code);
    tally('faults', 1);
  });
});
