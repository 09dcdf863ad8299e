import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ItemLine } from '../../src/service/admin/import-items.ts';
import { onPostgres, storedIn, temporaryData } from './embedded-service.ts';
import { emptyHome, run, temporaryFolder } from './heddle.ts';

/** Imports recorded calls into the queue `q` of demo/support; returns the environment. */
export async function importItems(items: readonly ItemLine[]): Promise<Record<string, string>> {
  const folder = temporaryFolder();
  const environment = emptyHome(folder, onPostgres ? storedIn(await temporaryData()) : {});
  const file = join(folder, 'items.jsonl');
  writeFileSync(file, items.map((item) => JSON.stringify(item)).join('\n'));
  const { code } = await run(['service', 'import', file, '--project', 'demo/support', '--queue', 'q'], environment);
  expect(code).toBe(0);
  return environment;
}
