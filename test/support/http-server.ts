import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { command, emptyHome, type RunningCommand, startCommand, temporaryFolder } from './heddle.ts';
import { onEnd } from './on-end.ts';

/** A running `heddle serve --http` in this process. */
export interface HttpServer extends RunningCommand {
  url: string;
}

/** Starts `heddle serve --http` in this process on a free port, with an empty home. It ends with the test, or the file when called at its top level. */
export async function startHttp(args: string[] = [], extra: Record<string, string> = {}): Promise<HttpServer> {
  const server = startCommand(['serve', '--http', '--port', '0', ...args], emptyHome(temporaryFolder(), extra));
  const [, url] = await server.reports(/^listening on (http:\S+)$/m);
  return { ...server, url: url! };
}

/** A running `heddle serve --http` as a process of its own. */
export interface HttpProcess {
  url: string;
  child: ChildProcess;
  /** Output so far. */
  output: { stdout: string; stderr: string };
  /** Resolves to the exit code. */
  exit: Promise<number | null>;
}

/** Starts `heddle serve --http` as a process; see {@link startHttp}. */
export async function startHttpProcess(args: string[] = [], extra: Record<string, string> = {}): Promise<HttpProcess> {
  const child = spawn(process.execPath, [command, 'serve', '--http', '--port', '0', ...args], {
    env: emptyHome(temporaryFolder(), extra),
  });
  const output = { stdout: '', stderr: '' };
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  onEnd(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.stdout += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output.stderr += text;
      const line = /^listening on (http:\S+)$/m.exec(output.stderr);
      if (line) resolve(line[1]!);
    });
    exit.then((code) => reject(new Error(`ended with ${code} before it listened: ${output.stderr}`)));
  });
  return { url, child, output, exit };
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Headers that every MCP client sends. */
export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** Sends one HTTP request on a new connection and returns the response. */
export function ask(
  url: string | URL,
  { method = 'POST', headers = jsonHeaders, body }: { method?: string; headers?: object; body?: unknown } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers }, agent: false }, async (response) => {
      let text = '';
      for await (const part of response.setEncoding('utf8')) text += part;
      resolve({ status: response.statusCode!, headers: response.headers, body: text });
    });
    sent.on('error', reject);
    sent.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  });
}

/** Returns a request of the protocol revisions before 2026-07-28. */
export function olderRequest(method: string, params: object = {}): { headers: object; body: object } {
  return { headers: jsonHeaders, body: { jsonrpc: '2.0', id: 1, method, params } };
}

/** Returns a request of protocol revision 2026-07-28, with its headers and metadata. */
export function newerRequest(method: string, params: { name?: string; _meta?: object } = {}) {
  const _meta = {
    ...params._meta,
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: {
      ...jsonHeaders,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(params.name !== undefined && { 'mcp-name': params.name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
  };
}

/** Parses the messages of a stream of server-sent events. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
export function messagesOf(stream: string): any[] {
  return [...stream.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!));
}
