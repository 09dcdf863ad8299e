// Writes the files generated from the contract, the tools and the settings: `npm run generate`. A test fails when one is stale.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generated } from './generate/index.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
for (const [file, text] of Object.entries(await generated())) {
  writeFileSync(join(root, file), text);
  console.log(file);
}
