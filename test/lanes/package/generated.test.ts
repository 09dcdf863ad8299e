import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generated } from '../../../scripts/generate/index.ts';

const root = join(import.meta.dirname, '../../..');

describe('a generated file', () => {
  it('has the contents that `npm run generate` writes', async () => {
    for (const [file, text] of Object.entries(await generated())) {
      expect(readFileSync(join(root, file), 'utf8'), `${file} is stale: npm run generate`).toBe(text);
    }
  });
});
