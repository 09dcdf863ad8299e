import { type Command, InvalidArgumentError } from 'commander';
import { HeddleError } from '../../core/errors.ts';
import type { HttpFlags } from '../../runtime/http-server.ts';
import { guardFlags, offerFlags, resultFlags, serviceFlags } from '../support/flag-lists.ts';
import { addSettingFlags, asPort, flagsOf, settingsOf } from '../support/flags.ts';
import { readCredentials, runtimeOptions } from '../support/secrets.ts';

/** `heddle serve`: the MCP server on stdin and stdout, or with `--http` on a port. */
export function addServe(program: Command): void {
  const serve = program
    .command('serve', { isDefault: true })
    .description('serve MCP on stdin and stdout, or over Streamable HTTP')
    .option('--http', 'serve Streamable HTTP at /mcp instead of stdin and stdout')
    .option(
      '--host <host>',
      'with --http: name or address to listen on; beyond loopback callers must bring a token',
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
    .option('--token-file <file>', 'with --http: file with the bearer token of clients, else HEDDLE_HTTP_TOKEN')
    .option('--metrics-port <port>', 'with --http: serve Prometheus metrics at /metrics on this port too', asPort)
    .option(
      '--metrics-host <host>',
      'name or address for --metrics-port; whoever reaches it may read them',
      '127.0.0.1',
    );
  const forHttp = new Set<string>([...serve.options.map((option) => option.attributeName()), ...guardFlags]);
  addSettingFlags(serve, [...serviceFlags, ...resultFlags, ...offerFlags, ...guardFlags]).action(
    async (flags: HttpFlags & { http?: true }) => {
      const resolved = settingsOf(serve);
      if (!flags.http) {
        const idle = serve.options.find(
          (option) =>
            forHttp.has(option.attributeName()) && serve.getOptionValueSource(option.attributeName()) === 'cli',
        );
        if (idle) {
          throw new HeddleError({
            code: 'not_configured',
            message: `There is ${idle.long}, but not --http: over stdio every client starts a process of its own.`,
            hint: `Add --http, or leave ${idle.long} away.`,
          });
        }
        const { runStdioServer } = await import('../../runtime/stdio-server.ts');
        return runStdioServer(resolved, runtimeOptions(resolved), { input: process.stdin, output: process.stdout });
      }
      const { runHttpServer } = await import('../../runtime/http-server.ts');
      const inputs = { flags: flagsOf(serve), environment: process.env };
      return runHttpServer(resolved, flags, { ...runtimeOptions(resolved), inputs, readCredentials });
    },
  );
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
