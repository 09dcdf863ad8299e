import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generated } from '../../scripts/generate/index.ts';

const root = join(import.meta.dirname, '../..');

test('every generated file is as `npm run generate` writes it', async () => {
  for (const [file, text] of Object.entries(await generated())) {
    expect(readFileSync(join(root, file), 'utf8'), `${file} is stale: npm run generate`).toBe(text);
  }
});
