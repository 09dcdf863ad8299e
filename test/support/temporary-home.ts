import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** An empty folder that goes with the test file. */
export function temporaryHome(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
