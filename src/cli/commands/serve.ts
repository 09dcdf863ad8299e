import { type Command, InvalidArgumentError } from 'commander';
import { notConfigured } from '../../core/errors.ts';
import type { HttpFlags } from '../../runtime/http-server.ts';
import { addSettingFlags, asPort, flagsOf, httpFlags, runtimeFlags, settingsOf } from '../support/flags.ts';
import { readCredentials, runtimeOptions } from '../support/secrets.ts';

/** Adds `heddle serve`, the default command: the MCP server on stdin and stdout, or with `--http` on a port. */
export function addServe(program: Command): void {
  const serve = program
    .command('serve', { isDefault: true })
    .description('serve MCP on stdin and stdout, or over Streamable HTTP');
  addHttpOptions(serve);
  const httpOptions = [...serve.options];
  serve.option('--http', 'serve Streamable HTTP at /mcp instead of stdin and stdout');
  addSettingFlags(serve, runtimeFlags).action(async (flags: HttpFlags & { http?: true }) => {
    const settings = settingsOf(serve);
    if (flags.http) {
      const { runHttpServer } = await import('../../runtime/http-server.ts');
      const inputs = { flags: flagsOf(serve), environment: process.env };
      return runHttpServer(settings, flags, { ...runtimeOptions(settings), inputs, readCredentials });
    }
    const unused = httpOptions.find((option) => serve.getOptionValueSource(option.attributeName()) === 'cli');
    if (unused) {
      throw notConfigured(`${unused.long} has no effect without --http.`, `Add --http, or remove ${unused.long}.`);
    }
    const { runStdioServer } = await import('../../runtime/stdio-server.ts');
    return runStdioServer(settings, runtimeOptions(settings), { input: process.stdin, output: process.stdout });
  });
}

function addHttpOptions(serve: Command): void {
  const local = '127.0.0.1';
  serve
    .option('--host <host>', 'with --http: name or address to listen on; beyond loopback, clients need a token', local)
    .option('--port <port>', 'with --http: port to listen on; 0 picks a free one', asPort, 3920)
    .option('--allowed-host <name>', 'with --http: further name to accept as Host; repeatable', collect(asHost), [])
    .option(
      '--allowed-origin <origin>',
      'with --http: further web origin to accept, such as https://app.example.com; repeatable',
      collect(asOrigin),
      [],
    )
    .option('--token-file <file>', 'with --http: file with the bearer token of clients, instead of HEDDLE_HTTP_TOKEN')
    .option('--metrics-port <port>', 'with --http: port to serve Prometheus metrics on, at /metrics', asPort)
    .option('--metrics-host <host>', 'name or address for --metrics-port; the metrics need no token', local);
  addSettingFlags(serve, httpFlags);
}

function asHost(text: string): string {
  const url = URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;
  if (url?.pathname !== '/' || url.username) throw new InvalidArgumentError('It must be a host name.');
  return url.hostname;
}

/** Parses an origin, or the name of a host. Origins of other schemes, such as those of extensions, are compared as text. */
function asOrigin(text: string): string {
  if (!text.includes('://')) return asHost(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.protocol.startsWith('http')) return text.toLowerCase();
  if (url.pathname !== '/') throw new InvalidArgumentError('It must be an origin such as https://app.example.com.');
  return url.origin;
}

/** Returns a parser for a repeatable option. */
function collect(parse: (text: string) => string): (text: string, previous: string[]) => string[] {
  return (text, previous) => [...previous, parse(text)];
}
