import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** How every bundle of heddle is made. @type {import('esbuild').BuildOptions} */
export const bundleOptions = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.18',
  // ECMAScript modules where a package has them: a bundler does not find the parts of the other form of jsonc-parser.
  mainFields: ['module', 'main'],
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
