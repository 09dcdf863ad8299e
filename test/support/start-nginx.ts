import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Agent, fetch as fetchWith } from 'undici';
import { expect, onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { temporaryFolder } from './heddle.ts';
import { requireProgram } from './require-program.ts';
import { selfSigned } from './self-signed.ts';

const nginx = ['/usr/sbin/nginx', '/usr/bin/nginx', '/usr/local/bin/nginx'].find(existsSync) ?? 'nginx';
export const hasNginx = requireProgram('nginx', nginx, 'apt-get install nginx');

const documented = join(import.meta.dirname, '../../deploy/nginx');

export interface Nginx {
  /** Origin of what it serves. */
  origin: string;
  /** Returns the server, as `host:port`, of each request with status 200 so far. */
  servedBy: () => string[];
}

/** Starts nginx with deploy/nginx/heddle.conf in front of two MCP servers. It speaks TLS only. */
export async function startBalancer(servers: [string, string], port?: number): Promise<Nginx> {
  const at = port ?? (await freePort());
  return start('heddle.conf', `https://localhost:${at}`, (folder) => [
    ...ownCertificate(folder, at),
    ['127.0.0.1:3921', new URL(servers[0]).host],
    ['127.0.0.1:3922', new URL(servers[1]).host],
  ]);
}

/** Starts nginx with deploy/nginx/heddle-service.conf in front of two services. */
export async function startServiceBalancer(servers: [string, string]): Promise<Nginx> {
  const port = await freePort();
  return start('heddle-service.conf', `http://127.0.0.1:${port}`, () => [
    ['listen 127.0.0.1:8787;', `listen 127.0.0.1:${port};`],
    ['127.0.0.1:8791', new URL(servers[0]).host],
    ['127.0.0.1:8792', new URL(servers[1]).host],
  ]);
}

/** Starts nginx with deploy/nginx/heddle-board.conf in front of a service with the board. `plainOrigin` is that without TLS. */
export async function startBoardProxy(server: string, port: number): Promise<Nginx & { plainOrigin: string }> {
  const plainPort = await freePort();
  const nginx = await start('heddle-board.conf', `https://localhost:${port}`, (folder) => [
    ...ownCertificate(folder, port),
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['127.0.0.1:8787', new URL(server).host],
  ]);
  return { ...nginx, plainOrigin: `http://localhost:${plainPort}` };
}

/** Starts nginx with deploy/nginx/heddle-programs.conf in front of a service. It speaks TLS only. */
export async function startProgramsProxy(server: string): Promise<Nginx> {
  const port = await freePort();
  return start('heddle-programs.conf', `https://localhost:${port}`, (folder) => [
    ...ownCertificate(folder, port, 8443),
    ['127.0.0.1:8787', new URL(server).host],
  ]);
}

/** Returns the places of a port and a certificate of this machine in a configuration. */
function ownCertificate(folder: string, port: number, documentedPort = 443): [string, string][] {
  writeFileSync(join(folder, 'fullchain.pem'), selfSigned.cert);
  writeFileSync(join(folder, 'privkey.pem'), selfSigned.key, { mode: 0o600 });
  return [
    [`listen ${documentedPort} ssl;`, `listen 127.0.0.1:${port} ssl;`],
    ['/etc/heddle/tls/fullchain.pem', join(folder, 'fullchain.pem')],
    ['/etc/heddle/tls/privkey.pem', join(folder, 'privkey.pem')],
  ];
}

/** Starts nginx with a documented configuration, in which it replaces addresses and paths that occur exactly once. */
async function start(file: string, origin: string, places: (folder: string) => [string, string][]): Promise<Nginx> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'temp'));
  const text = readFileSync(join(documented, file), 'utf8');
  // All found before any is replaced: a port that is put in can begin with another one.
  const found = places(folder).map(([from, to]) => {
    expect(text.split(from), `${file}: ${from}`).toHaveLength(2);
    return { at: text.indexOf(from), from, to };
  });
  let configuration = text;
  for (const { at, from, to } of found.sort((a, b) => b.at - a.at)) {
    configuration = configuration.slice(0, at) + to + configuration.slice(at + from.length);
  }
  writeFileSync(join(folder, file), configuration);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/pid;
error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  log_format served '$upstream_addr $status';
  access_log ${folder}/access.log served;
  ${temporary.map((name) => `${name}_temp_path ${folder}/temp/${name};`).join('\n  ')}
  include ${join(folder, file)};
}
`,
  );
  const child = spawn(nginx, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
    stdio: 'inherit',
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  await expect.poll(() => accepts(new URL(origin))).toBe(true);
  return {
    origin,
    // A line names both servers when the first one failed; the last one responded.
    servedBy: () =>
      readFileSync(join(folder, 'access.log'), 'utf8')
        .trim()
        .split('\n')
        .filter((line) => line.endsWith(' 200'))
        .map((line) => /(\S+) 200$/.exec(line)![1]!),
  };
}

/** Tells whether a server accepts connections on the port of a URL. */
export function accepts({ port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Returns a fetch that trusts the certificate of the balancer. */
export function trustingFetch(): typeof fetch {
  const dispatcher = new Agent({ connect: { ca: selfSigned.cert } });
  onTestFinished(() => dispatcher.destroy());
  return ((input: string, init: object) => fetchWith(input, { ...init, dispatcher })) as unknown as typeof fetch;
}
