import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';
import { tally } from '../support/tally.ts';

const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
const wide = `[${'{},'.repeat(1_000_000)}{}]`;
const line = '{"call_id":"c","call_op_name":"o","call_trace_id":"t","call_started_at":"2026-01-01T00:00:00Z"';

describe.each([
  ['nested 200,000 levels deep', deep, 'nested deeper than 500 levels'],
  ['of a million objects', wide, 'made of more than 1000000 lists, objects and members'],
])('JSON %s', (_kind, value, reason) => {
  const home = temporaryFolder();
  const environment = emptyHome(home);
  /** Writes a file below the home, and returns its path. */
  function write(name: string, text: string): string {
    const path = join(home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  const target = ['--queue', 'q', '--project', 'a/b'];
  const subjects = ['serve', '--http', '--port', '0', '--oauth-issuer', 'http://127.0.0.1:1', '--subjects'];

  it.each([
    [
      'a line to import',
      () => ['service', 'import', write('lines', `${line}}\n\n${line},"call":{"x":${value}}}`), ...target],
      1,
      `line 3: is ${reason}`,
    ],
    [
      'a dataset',
      () => ['service', 'put-dataset', 'd', write('rows', `[{"x":${value}}]`), '--project', 'a/b'],
      1,
      `is ${reason}`,
    ],
    [
      'a row of a dataset',
      () => ['service', 'put-dataset', 'd', write('rows', `{}\n{"x":${value}}`), '--project', 'a/b'],
      1,
      `is ${reason}`,
    ],
    ['arguments of a call', () => ['call', 'read_call', '-'], 2, `not valid JSON: ${reason}`],
    [
      'the configuration of a client',
      () => {
        write('.cursor/mcp.json', `{"mcpServers":${value}}`);
        return ['setup', 'cursor'];
      },
      2,
      `The file is ${reason}. It was not changed.`,
    ],
    [
      'the subjects file',
      () => [...subjects, write('subjects', `{"subjects":${value}}`)],
      2,
      `cannot be used: ${reason}`,
    ],
    [
      'the configuration file',
      () => {
        write('heddle/config.json', `{"profiles":${value}}`);
        return ['status'];
      },
      2,
      `cannot be used: ${reason}`,
    ],
  ])('is refused in %s', async (_, prepare, code, message) => {
    const finished = await run(prepare(), environment, `{"call_id":${value}}`);
    expect(finished.stderr).toContain(message);
    expect(finished.stderr).not.toMatch(/RangeError|^\s+at /m);
    expect(finished.code).toBe(code);
    tally('faults', 1);
  });
});
