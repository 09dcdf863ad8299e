// The servers to compare: each offers query_queue_items over the same stub service.
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { said, start } from './processes.mjs';
import { HttpConnection, StdioConnection } from './protocol.mjs';

const peer = (name) => fileURLToPath(new URL(`../peers/${name}.mjs`, import.meta.url));

/** The built command; BENCH_HEDDLE selects another build. */
export const heddle = process.env.BENCH_HEDDLE ?? fileURLToPath(new URL('../../dist/heddle.js', import.meta.url));

/** A temporary home: the bench neither reads nor writes the user's configuration. */
export const home = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
export const cleanEnvironment = {
  HOME: home,
  XDG_CONFIG_HOME: join(home, 'config'),
  XDG_DATA_HOME: join(home, 'data'),
  NO_COLOR: '1',
};

/** Returns the environment that points every subject at the stub. */
export function serviceEnvironment(stubUrl) {
  return {
    ...cleanEnvironment,
    STUB_URL: stubUrl,
    HEDDLE_BASE_URL: stubUrl,
    HEDDLE_USERNAME: 'bench',
    HEDDLE_PASSWORD: 'bench-password',
    HEDDLE_TOKEN: 'bench-token',
    HEDDLE_PROJECT: 'bench/page',
    // The default of 40 000 characters would cut the pages of 1 000 items.
    HEDDLE_MAX_RESULT_CHARS: '100000000',
  };
}

export const queue = '0197a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
export const queueCall = (limit, more = {}) => [
  'query_queue_items',
  { queue_id: queue, project_id: 'bench/page', limit, ...more },
];

/** Servers by name, with their arguments of node for stdio and HTTP; `http` is absent where a server has none. */
export const servers = {
  heddle: { stdio: [heddle], http: [heddle, 'serve', '--http', '--port', '0'] },
  ...(process.env.BENCH_OTHER && {
    'heddle, other build': {
      stdio: [process.env.BENCH_OTHER],
      http: [process.env.BENCH_OTHER, 'serve', '--http', '--port', '0'],
    },
  }),
  floor: { stdio: [peer('floor')], http: [peer('floor'), 'http'] },
  'SDK v2': { stdio: [peer('sdk-v2')], http: [peer('sdk-v2'), 'http'] },
  'SDK v1': { stdio: [peer('sdk-v1')], http: [peer('sdk-v1'), 'http'] },
  fastmcp: { stdio: [peer('fastmcp')] },
};

/** Runs a heddle command to its end and resolves to its output. */
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

/** Starts a server on stdio and completes the handshake. */
export async function openStdio(name, env) {
  const connection = new StdioConnection(servers[name].stdio, env);
  await connection.initialize();
  connection.initialized();
  return connection;
}

/** Starts a server on HTTP; calls use the given revision of the protocol. */
export async function openHttp(name, env, revision) {
  const child = start(servers[name].http, env, ['ignore', 'ignore', 'pipe']);
  const [url] = await said(child, 'stderr', /http:\/\/\S+/);
  return new HttpConnection(url, child, revision);
}
