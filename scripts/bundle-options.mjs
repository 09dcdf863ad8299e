import { fileURLToPath } from 'node:url';
import { pagesPlugin } from './pages-plugin.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Options of every bundle. @type {import('esbuild').BuildOptions} */
export const bundleOptions = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  // Prefer ECMAScript modules: the bundler cannot resolve the imports inside the other form of jsonc-parser.
  mainFields: ['module', 'main'],
  // Under `workerd`, the MCP SDK validates with @cfworker/json-schema as heddle does; under `node` it brings two copies of ajv.
  conditions: ['module', 'workerd'],
  // Native and optional; the code that needs them reports their absence.
  external: ['@napi-rs/keyring', '@photostructure/sqlite'],
  // Some bundled packages are CommonJS and call require at run time.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
  },
  // Half as much to install and to read at start.
  minify: true,
  // Licences go into THIRD-PARTY-NOTICES.txt.
  legalComments: 'none',
  plugins: [pagesPlugin],
  logLevel: 'warning',
  metafile: true,
};
