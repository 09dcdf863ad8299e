import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The type declarations of the package by file name. They come from src/api alone, whose types name nothing outside of
 * it: the libraries inside the bundle are not installed with it.
 */
export function declarations(root) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-types-'));
  try {
    const config = join(folder, 'tsconfig.json');
    const compilerOptions = {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      // Checking is the linter's work; a build must not wait for it.
      noCheck: true,
      rootDir: join(root, 'src'),
      outDir: join(folder, 'out'),
      typeRoots: [join(root, 'node_modules/@types')],
      resolveJsonModule: false,
    };
    const files = ['src/library.ts', ...readdirSync(join(root, 'src/api')).map((file) => `src/api/${file}`)].map(
      (file) => join(root, file),
    );
    writeFileSync(
      config,
      JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }),
    );
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/lib/tsc.js'), '-p', config], {
      stdio: 'inherit',
    });
    const text = (file) => readFileSync(join(folder, 'out', file), 'utf8');
    return Object.fromEntries(
      [
        ['index.d.ts', text('library.d.ts').replaceAll(/'[.]\/api\//g, "'./")],
        ...readdirSync(join(folder, 'out/api')).map((file) => [file, text(`api/${file}`)]),
      ].map(([file, raw]) => {
        const clean = raw.replaceAll(/(from '\.\/[^']+)\.ts'/g, "$1.js'");
        const [outside] = /(?:from|import\()\s*['"](?!\.\/)[^'"]+['"]|from '\.\.\/[^']+'/.exec(clean) ?? [];
        if (outside) throw new Error(`${file} has types from elsewhere: ${outside}`);
        return [file, clean];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
