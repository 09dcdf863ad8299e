import { type Command, InvalidArgumentError, Option } from 'commander';
import { notConfigured } from '../../core/errors.ts';
import type { HttpFlags } from '../../runtime/serve-http.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { runtimeOptions } from '../access/runtime-options.ts';
import { readCredentials } from '../access/secrets.ts';
import { invocation, programName, withProgramName } from '../invocation.ts';
import { addSettingFlags, asPort, httpFlags, inputsOf, runtimeFlags, settingsOf } from '../usage/flags.ts';
import { explain } from '../usage/help.ts';

/** Adds `heddle serve`, the default command: the MCP server on stdin and stdout, or with `--http` on a port. */
export function addServe(program: Command): void {
  const serve = program
    .command('serve', { isDefault: true })
    .description('serve MCP on stdin and stdout, or over Streamable HTTP');
  serve.option('--http', 'serve Streamable HTTP at /mcp instead of stdin and stdout');
  addHttpOptions(serve);
  const httpOptions = serve.options.filter(({ long }) => long !== '--http');
  explain(serve, {
    examples: [
      'heddle serve                                   # what MCP clients start',
      'heddle serve --http --port 3920                # one server for many clients',
      'heddle setup cursor --url http://127.0.0.1:3920/mcp',
    ],
    page: 'docs/deploy.md, docs/authorization.md',
  });
  addSettingFlags(serve, runtimeFlags).action(async (flags: HttpFlags & { http?: true }) => {
    const settings = settingsOf(serve);
    const { control, stdin, stdout, stderr } = invocation();
    if (flags.http) {
      checkTokenVariable(settings, flags);
      const { runHttpServer } = await import('../../runtime/serve-http.ts');
      const onListening = (url: string): void => explainConnection(url, settings, flags);
      // Those who read its results have no path of this machine.
      const options = { ...runtimeOptions(settings, 'heddle'), inputs: inputsOf(serve), readCredentials, onListening };
      await runHttpServer(settings, flags, { ...options, control, stderr });
      control.exit(0);
      return;
    }
    const unused = httpOptions.find((option) => serve.getOptionValueSource(option.attributeName()) === 'cli');
    if (unused) {
      throw notConfigured(`${unused.long} has no effect without --http.`, `Add --http, or remove ${unused.long}.`);
    }
    if (stdin.isTTY && stderr.isTTY) explainWaiting();
    const { runStdioServer } = await import('../../runtime/serve-stdio.ts');
    const options = runtimeOptions(settings, programName(true));
    await runStdioServer(settings, options, { input: stdin, output: stdout, control });
    control.exit(0);
  });
}

/**
 * Refuses a token that came out empty, such as from a command that failed: elsewhere an empty variable counts as absent, and here
 * the server would admit every user of this machine.
 */
function checkTokenVariable({ values }: ResolvedSettings, { tokenFile }: HttpFlags): void {
  if (invocation().environment.HEDDLE_HTTP_TOKEN !== '' || tokenFile !== undefined || values.oauthIssuer !== undefined)
    return;
  throw notConfigured(
    'HEDDLE_HTTP_TOKEN is set, but empty.',
    'Set it to the token that clients must send, or unset it to serve every program on this machine.',
  );
}

/** Says what a server on a terminal waits for: no person types its protocol. */
function explainWaiting(): void {
  invocation().stderr.write(
    [
      'heddle serves MCP on stdin and stdout, and waits for a client to start talking. Ctrl-C ends it.',
      withProgramName(
        '`heddle setup CLIENT` adds it to a client, `heddle demo` shows what it does, `heddle --help` lists the commands.',
      ),
      '',
    ].join('\n'),
  );
}

/** Tells a person at a terminal how a client connects to the server over HTTP. */
function explainConnection(url: string, { values }: ResolvedSettings, { tokenFile }: HttpFlags): void {
  const { redactor, stderr } = invocation();
  if (!stderr.isTTY) return;
  const address = redactor.redact(values.publicUrl ?? url);
  const isTokenNeeded = tokenFile !== undefined || values.httpToken !== undefined;
  const access =
    values.oauthIssuer !== undefined
      ? `Clients log in at ${values.oauthIssuer}.`
      : isTokenNeeded
        ? 'Clients send the header `Authorization: Bearer TOKEN` with the token of this server.'
        : 'It needs no token, since only this machine can reach it.';
  const lines = [`Connect a client with \`heddle setup CLIENT --url ${address}\`. ${access} Ctrl-C ends it.`, ''];
  stderr.write(withProgramName(lines.join('\n')));
}

const httpHeading = 'Options of --http:';

function addHttpOptions(serve: Command): void {
  const local = '127.0.0.1';
  const add = (option: Option): Command => serve.addOption(option.helpGroup(httpHeading));
  add(
    new Option('--host <host>', 'name or address to listen on; beyond loopback, clients need a token').default(local),
  );
  add(new Option('--port <port>', 'port to listen on; 0 picks a free one').argParser(asPort).default(3920));
  add(
    new Option('--allowed-host <name>', 'further name to accept as Host; repeatable')
      .argParser(collect(asHost))
      .default([], 'none'),
  );
  add(
    new Option('--allowed-origin <origin>', 'further web origin to accept, like https://app.example.com; repeatable')
      .argParser(collect(asOrigin))
      .default([], 'none'),
  );
  add(new Option('--board', 'serve the board of the embedded service at /board, to people who log in'));
  add(new Option('--token-file <file>', 'file with the bearer token of clients, instead of HEDDLE_HTTP_TOKEN'));
  add(new Option('--metrics-port <port>', 'port to serve Prometheus metrics on, at /metrics').argParser(asPort));
  add(
    new Option('--metrics-host <host>', 'name or address for --metrics-port; the metrics need no token').default(local),
  );
  addSettingFlags(serve, httpFlags, httpHeading);
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
