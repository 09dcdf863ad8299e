import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pagesPlugin } from './pages-plugin.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Leaves out a call in the MCP SDK that builds every schema of the protocol while it is loaded, for hosts that charge less for
 * a start than for a request. Without it, the SDK builds a schema when it first needs it.
 * @type {import('esbuild').Plugin}
 */
const schemasOnDemand = {
  name: 'schemas-on-demand',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]shimsWorkerd\.mjs$/ }, ({ path }) => {
      const parts = readFileSync(path, 'utf8').split(/^preloadSchemas\(\);$/m);
      if (parts.length !== 2) throw new Error(`${path} has changed: it no longer calls preloadSchemas once`);
      return { contents: parts.join('') };
    });
  },
};

/**
 * Leaves out of the MCP SDK the schemas that nothing uses, most of them of OAuth. The SDK registers all by name for `isSpecType` and
 * `specTypeSchemas`, of which only its client reads one, and building them takes a part of what the first call waits for.
 * @type {import('esbuild').Plugin}
 */
const usedSchemasOnly = {
  name: 'used-schemas-only',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]@modelcontextprotocol[\\/](client|server)[\\/]dist[\\/]src-[\w-]+\.mjs$/ }, ({ path }) => {
      const [start, end, ...more] = readFileSync(path, 'utf8').split(
        /(?:^for \(const .+\) register\(key, .+\);\n){2}/m,
      );
      if (end === undefined || more.length > 0)
        throw new Error(`${path} has changed: its schemas are not registered in two loops`);
      return { contents: `${start}register('ImplementationSchema', ImplementationSchema);\n${end}` };
    });
    onLoad({ filter: /[\\/]@modelcontextprotocol[\\/]core[\\/]dist[\\/](auth|schemas)-[\w-]+\.mjs$/ }, ({ path }) => {
      // The bundler leaves out what is not used only where it is told that making it has no effect.
      const declaration = /^const (\w+) = (\w+\..+?);\n(?=[\na-z/])/gms;
      const text = readFileSync(path, 'utf8');
      const contents = text.replaceAll(declaration, 'const $1 = /* @__PURE__ */ (() => $2)();\n');
      if (contents === text) throw new Error(`${path} has changed: its schemas are no longer found`);
      return { contents };
    });
  },
};

/**
 * Takes of undici only what src/core/http/http-client.ts uses: connections, with and without a proxy. The rest (`fetch`, WebSockets,
 * caches, mocks) would be loaded before the first call, together with Node's built-in copy of undici, whose `Headers` it looks up.
 * @type {import('esbuild').Plugin}
 */
const connectionsOnly = {
  name: 'connections-only',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]undici[\\/]index\.js$/ }, ({ path }) => {
      const parts =
        /^const (Agent|ProxyAgent|Dispatcher|api) = require\(.+\)$|^Object\.assign\(Dispatcher\.prototype, api\)$/gm;
      const lines = readFileSync(path, 'utf8').match(parts) ?? [];
      if (lines.length !== 5) throw new Error(`${path} has changed: its agents are no longer found`);
      return { contents: `${lines.join('\n')}\nmodule.exports = { Agent, ProxyAgent };` };
    });
  },
};

/** Takes of package.json only what src/core/version.ts reads. @type {import('esbuild').Plugin} */
const manifestInPart = {
  name: 'manifest-in-part',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]package\.json$/ }, ({ path }) => {
      if (path !== join(root, 'package.json')) return undefined;
      const { version, engines } = JSON.parse(readFileSync(path, 'utf8'));
      return { contents: JSON.stringify({ version, engines }), loader: 'json' };
    });
  },
};

/** Writes the data of src as JSON text: a start takes 4 % less processor time than with object literals. @type {import('esbuild').Plugin} */
const dataAsText = {
  name: 'data-as-text',
  setup({ onLoad }) {
    onLoad({ filter: /\.json$/ }, ({ path }) => {
      if (!path.startsWith(join(root, 'src'))) return undefined;
      const text = JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
      return { contents: `export default /* @__PURE__ */ JSON.parse(${JSON.stringify(text)})` };
    });
  },
};

/** Takes of the data on emoji only the names, with which the service completes reactions. @type {import('esbuild').Plugin} */
const emojiNamesOnly = {
  name: 'emoji-names-only',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]unicode-emoji-json[\\/]data-by-emoji\.json$/ }, ({ path }) => {
      const emoji = Object.entries(JSON.parse(readFileSync(path, 'utf8')));
      // The bundler writes a sign that is not ASCII in twice as many characters.
      const pointsOf = (sign) => Array.from(sign, (char) => char.codePointAt(0).toString(36)).join('-');
      const names = emoji.map(([sign, { slug }]) => `${pointsOf(sign)} ${slug}`).join(';');
      const signOf = "String.fromCodePoint(...points.split('-').map((point) => Number.parseInt(point, 36)))";
      const members = `'${names}'.split(';').map((name) => name.split(' ')).map(([points, slug]) => [${signOf}, { slug }])`;
      return { contents: `export default Object.fromEntries(${members})` };
    });
  },
};

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
  plugins: [pagesPlugin, schemasOnDemand, usedSchemasOnly, connectionsOnly, manifestInPart, dataAsText, emojiNamesOnly],
  logLevel: 'warning',
  metafile: true,
};
