// What is compared: every server offers query_queue_items over the same stub service.
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundleOptions } from '../../scripts/bundle-options.mjs';
import { said, start } from './processes.mjs';
import { HttpConnection, StdioConnection } from './protocol.mjs';

const peer = (name) => fileURLToPath(new URL(`../peers/${name}.mjs`, import.meta.url));

/** The built command; BENCH_HEDDLE measures another build. */
export const heddle = process.env.BENCH_HEDDLE ?? fileURLToPath(new URL('../../dist/heddle.js', import.meta.url));

/** A home of its own: nothing of the person's configuration is read, nothing of theirs written. */
export const home = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
export const cleanEnvironment = {
  HOME: home,
  XDG_CONFIG_HOME: join(home, 'config'),
  XDG_DATA_HOME: join(home, 'data'),
  NO_COLOR: '1',
};

/** Environment that points every subject at the stub. */
export function serviceEnvironment(stubUrl) {
  return {
    ...cleanEnvironment,
    STUB_URL: stubUrl,
    HEDDLE_BASE_URL: stubUrl,
    HEDDLE_USERNAME: 'bench',
    HEDDLE_PASSWORD: 'bench-password',
    HEDDLE_TOKEN: 'bench-token',
    HEDDLE_PROJECT: 'bench/page',
    // The lines with 1 000 items would be cut at the default of 50 000 characters.
    HEDDLE_MAX_RESULT_CHARS: '100000000',
  };
}

/** What is made of heddle's own sources, bundled anew for each run. */
const alone = join(home, 'sdk-alone.js');
export const promises = join(home, 'promises.js');
await build({
  ...bundleOptions,
  entryPoints: { 'sdk-alone': peer('sdk-alone'), promises: peer('promises') },
  absWorkingDir: fileURLToPath(new URL('../..', import.meta.url)),
  splitting: true,
  outdir: home,
});
writeFileSync(join(home, 'package.json'), '{"type":"module"}');

/** The last of the servers below: the least that passes on what heddle does. */
export const least = 'SDK v2 alone, with the text';

export const queue = '0197a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
export const queueCall = (limit, more = {}) => [
  'query_queue_items',
  { queue_id: queue, project_id: 'bench/page', limit, ...more },
];

/** Servers by name, with the arguments of node for stdio and HTTP; `http` is absent where there is none to compare. */
export const servers = {
  heddle: { stdio: [heddle], http: [heddle, 'serve', '--http', '--port', '0'] },
  floor: { stdio: [peer('floor')], http: [peer('floor'), 'http'] },
  'SDK v2 alone': { stdio: [alone], http: [alone, 'http'] },
  [least]: { stdio: [alone, 'stdio', 'text'], http: [alone, 'http', 'text'] },
  'SDK v2': { stdio: [peer('sdk-v2')], http: [peer('sdk-v2'), 'http'] },
  'SDK v1': { stdio: [peer('sdk-v1')], http: [peer('sdk-v1'), 'http'] },
  fastmcp: { stdio: [peer('fastmcp')] },
};

/** Runs a heddle command to its end; what it printed. */
export async function run(args, env = {}) {
  const child = start([heddle, ...args], { ...cleanEnvironment, ...env }, ['ignore', 'pipe', 'inherit']);
  let text = '';
  child.stdout.on('data', (part) => {
    text += part;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`heddle ${args.join(' ')} ended with ${code}`);
  return text;
}

/** Starts a server on stdio, past its handshake. */
export async function openStdio(name, env) {
  const connection = new StdioConnection(servers[name].stdio, env);
  await connection.initialize();
  connection.initialized();
  return connection;
}

/** Starts a server on HTTP, to be called in a revision of the protocol. */
export async function openHttp(name, env, revision) {
  const child = start(servers[name].http, env, ['ignore', 'ignore', 'pipe']);
  const [url] = await said(child, 'stderr', /http:\/\/\S+/);
  return new HttpConnection(url, child, revision);
}
