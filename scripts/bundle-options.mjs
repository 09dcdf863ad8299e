import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** How every bundle of heddle is made. @type {import('esbuild').BuildOptions} */
export const bundleOptions = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  alias: {
    // Its main file is of a form whose parts a bundler does not find.
    'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
    // prom-client requires what heddle imports. In one form for both it needs no further helper, by which all chunks of the
    // command would differ from those of the server on stdio, and be there twice.
    '@opentelemetry/api': './node_modules/@opentelemetry/api/build/src/index.js',
    // Neither the client nor the servers speak HTTP/2; what Node has for it takes 5 ms to load.
    'node:http2': './src/http/no-http2.ts',
    // Leaves Ajv out.
    '@modelcontextprotocol/server/_shims': './src/mcp/schema-shims.ts',
  },
  // Native, and optional: what needs them says so where they are missing.
  external: ['@napi-rs/keyring', '@photostructure/sqlite'],
  // Some bundled packages are CommonJS and reach for require at run time.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
  },
  // A third less to install and to read at start. Names stay: a stack trace in a bug report must say something.
  minifyWhitespace: true,
  minifySyntax: true,
  // The notices go into a file of their own.
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
};
