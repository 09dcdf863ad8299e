import { readFileSync, statSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { asHeaderToken } from '../config/options.ts';
import { HeddleError } from '../contract/errors.ts';
import type { RunningHttpServer } from '../mcp/serve-http.ts';
import { addConfigFlags, configOf, offerFlags, resultFlags, serviceFlags } from './flags.ts';
import { openSession, type Session } from './session.ts';
import { endServing, stopSignal } from './stop.ts';
import { outliveUncaught } from './uncaught.ts';

/** How long calls that run may go on when the process is told to end, in milliseconds (design §8). */
const stopGraceMs = 10_000;

interface HttpFlags {
  http?: true;
  host: string;
  port: number;
  allowedHost: string[];
  allowedOrigin: string[];
  tokenFile?: string;
}

/** `heddle serve`: the MCP server on stdin and stdout, or with `--http` on a port. */
export function addServe(program: Command): void {
  const serve = program
    .command('serve', { isDefault: true })
    .description('serve MCP on stdin and stdout, or over Streamable HTTP')
    .option('--http', 'serve Streamable HTTP at /mcp instead of stdin and stdout')
    .option(
      '--host <host>',
      'with --http: name or address to listen on; beyond loopback a token is needed',
      '127.0.0.1',
    )
    .option('--port <port>', 'with --http: port to listen on, 0 for any free one', asPort, 3920)
    .option('--allowed-host <name>', 'with --http: further name that Host may have; repeatable', collect(asHost), [])
    .option(
      '--allowed-origin <origin>',
      'with --http: further origin of web pages that may call, like https://app.example.com; repeatable',
      collect(asOrigin),
      [],
    )
    .option('--token-file <file>', 'with --http: file with the bearer token of clients, else HEDDLE_HTTP_TOKEN');
  addConfigFlags(serve, [...serviceFlags, ...resultFlags, ...offerFlags]).action(async (flags: HttpFlags) => {
    const resolved = configOf(serve);
    if (!flags.http) {
      const { serveStdio } = await import('./serve-stdio.ts');
      return serveStdio(resolved);
    }
    const session = openSession(resolved);
    outliveUncaught(session.log);
    const stop = stopSignal();
    const token = flags.tokenFile === undefined ? resolved.config.httpToken : readTokenFile(flags.tokenFile);
    const server = await startHttp(session, flags, token);
    if (!server) process.exit(1);
    process.stderr.write(`listening on ${server.url}\n`);
    if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve));
    await server.stop(stopGraceMs);
    return endServing(session);
  });
}

/** The server, or undefined when it cannot listen, which is said in one line. */
async function startHttp(
  session: Session,
  { host, port, allowedHost, allowedOrigin }: HttpFlags,
  token: string | undefined,
): Promise<RunningHttpServer | undefined> {
  const [{ serveHttp }, { serverFactory }] = await Promise.all([
    import('../mcp/serve-http.ts'),
    import('../mcp/server.ts'),
  ]);
  try {
    return await serveHttp(serverFactory(session.settings), {
      host,
      port,
      allowedHosts: allowedHost,
      allowedOrigins: allowedOrigin,
      token,
      ready: (signal) => isServiceReachable(session, signal),
      log: session.log,
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof HeddleError || code === undefined) throw error;
    const reason = code === 'EADDRINUSE' ? 'the port is in use; choose another with --port' : message;
    process.stderr.write(`heddle: cannot listen on ${host}, port ${port}: ${reason}\n`);
    return undefined;
  }
}

/** Whether the service answers at all: what it says to these credentials is the matter of each call. */
async function isServiceReachable({ inUse, settings }: Session, signal: AbortSignal): Promise<boolean> {
  if (inUse.kind === 'remote') {
    const answer = await fetch(inUse.baseUrl, { redirect: 'manual', signal });
    await answer.body?.cancel();
    return answer.status < 500;
  }
  return settings.service.listModels({ signal }).then(
    () => true,
    (error: HeddleError) => error.status !== undefined,
  );
}

/**
 * The token in a file.
 * @throws HeddleError `not_configured` when others may read the file, or it holds no token.
 */
function readTokenFile(file: string): string {
  const unusable = (reason: string, cause?: unknown): HeddleError =>
    new HeddleError({
      code: 'not_configured',
      message: `The token file ${file} cannot be used: ${reason}.`,
      hint: 'Write the token into a file that only you can read (chmod 600), and nothing else.',
      cause,
    });
  try {
    // Windows has no such mode bits: there the folder's permissions decide.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) throw new Error('others can read it');
    return asHeaderToken(readFileSync(file, 'utf8').trim());
  } catch (error) {
    throw unusable((error as Error).message, error);
  }
}

function asPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('It must be a whole number up to 65535.');
  return port;
}

function asHost(text: string): string {
  const url = URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;
  if (url?.pathname !== '/' || url.username) throw new InvalidArgumentError('It must be a host name.');
  return url.hostname;
}

function asOrigin(text: string): string {
  if (!text.includes('://')) return asHost(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.protocol.startsWith('http')) return text.toLowerCase();
  if (url.pathname !== '/') throw new InvalidArgumentError('It must be an origin like https://app.example.com.');
  return url.origin;
}

function collect(parse: (text: string) => string): (text: string, before: string[]) => string[] {
  return (text, before) => [...before, parse(text)];
}
