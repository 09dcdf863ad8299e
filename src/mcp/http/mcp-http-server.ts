import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type JSONRPCMessage, type McpHttpHandler } from '@modelcontextprotocol/server';
import { createBodyReader, tooBusy } from '../../core/http/body-reader.ts';
import { endServer } from '../../core/http/end-server.ts';
import { createHttpServer } from '../../core/http/http-server.ts';
import { listen } from '../../core/http/listen.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { requestIdHeader } from '../../core/http/request-id.ts';
import type { Log } from '../../core/log.ts';
import { build, version } from '../../core/version.ts';
import { jsonRpcError } from '../json-rpc.ts';
import { watchedIn, withWatchableOnly } from '../resource-watch.ts';
import type { ServerFactory } from '../server.ts';
import { Cancellations } from './cancellations.ts';
import { olderToolCall, serveDirectly } from './direct-exchange.ts';
import { AccessChecks, type ClientIdentity, checkMethod, type Guard } from './guard.ts';
import { httpLimits } from './http-limits.ts';
import { keepResponseAlive } from './keep-response-alive.ts';
import { checkMethodAndHeaders, readRequestBody } from './read-request.ts';
import { cachedReadiness } from './readiness.ts';

export interface HttpOptions {
  /** Configured host to listen on: a name or an IP address. */
  host: string;
  /** IP address that the host resolves to. */
  address: string;
  port: number;
  /** Hosts that are accepted in the Host header besides loopback, without port. */
  allowedHosts: readonly string[];
  /** Origins of web pages: `https://app.example.com`, or a bare host name, which allows any scheme and port. */
  allowedOrigins: readonly string[];
  /** Creates the guard, given the URL of the endpoint. Without it, every client is admitted. */
  guard?: (url: string) => Guard;
  /** Serves further paths, and returns undefined for every other path. It checks the Host and the Origin itself. */
  pages?: ((request: IncomingMessage, response: ServerResponse) => Promise<void> | undefined) | undefined;
  /** Returns true if the service responds. An exception counts as not ready. */
  ready: (signal: AbortSignal) => Promise<boolean>;
  log: Log;
  /** Called with the status of each refused request; not for internal errors. */
  onRefused?: (status: number) => void;
}

/**
 * Serves MCP over Streamable HTTP at `/mcp`, in every protocol revision and without state between requests: each is
 * checked, and then served by a fresh server from `createMcpServer`, or from the factory that the guard returned for its
 * client. `/healthz` and `/readyz` tell a load balancer about the process and the service, `/health` names the build.
 */
export class McpHttpServer {
  readonly #options: HttpOptions;
  readonly #createMcpServer: ServerFactory;
  readonly #handler: McpHttpHandler;
  /** Those of open subscriptions, each with events of its own: no client hears what another one may read. */
  readonly #listening = new Set<McpHttpHandler>();
  readonly #server: Server;
  readonly #access: AccessChecks;
  readonly #isReady: () => Promise<boolean>;
  readonly #readBody = createBodyReader(httpLimits.maxBodyBytes, httpLimits.maxTotalBodyBytes);
  readonly #cancellations = new Cancellations();
  #guard: Guard | undefined;
  #runningCalls = 0;
  #stopping = false;

  constructor(createMcpServer: ServerFactory, options: HttpOptions) {
    const { host, address, allowedHosts, allowedOrigins, ready, log } = options;
    const isWildcard = ['0.0.0.0', '::'].includes(address);
    this.#options = options;
    this.#createMcpServer = createMcpServer;
    this.#access = new AccessChecks(isWildcard ? allowedHosts : [...allowedHosts, host], allowedOrigins);
    this.#isReady = cachedReadiness(ready, log);
    this.#handler = this.#createHandler();
    this.#server = createHttpServer((request, response) => this.#route(request, response), {
      limits: httpLimits,
      errorBody: jsonRpcError,
      log,
      onRefused: options.onRefused,
    });
  }

  /**
   * Listens, and returns the URL of the endpoint.
   * @throws the system's error when it cannot listen.
   */
  async listen(): Promise<string> {
    const { host, address, port, guard } = this.#options;
    const url = `${await listen(this.#server, port, host, address)}/mcp`;
    this.#guard = guard?.(url);
    return url;
  }

  /** Stops accepting connections, and cuts off calls that still run after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#listening].map((handler) => handler.close()));
    await endServer(this.#server, graceMs);
    await this.#handler.close();
  }

  #createHandler(): McpHttpHandler {
    const { log } = this.#options;
    return createMcpHandler(
      ({ authInfo, era }) => ((authInfo?.extra?.createMcpServer ?? this.#createMcpServer) as ServerFactory)({ era }),
      {
        keepAliveMs: httpLimits.maxSilenceMs,
        onerror: (error) => log('info', 'protocol', { error: error.message }),
      },
    );
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const served = this.#options.pages?.(request, response);
    if (served) return served;
    this.#access.checkHost(request);
    const path = request.url?.split('?')[0] ?? '';
    const metadata = this.#guard?.metadata;
    if (metadata?.paths.includes(path)) sendMetadata(request, response, metadata.document);
    else await this.#routeForAllowedOrigin(path, request, response);
  }

  async #routeForAllowedOrigin(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#access.checkOrigin(request);
    setCorsHeaders(request, response);
    if (path === '/healthz') {
      sendText(response, 200, 'ok');
    } else if (path === '/health') {
      sendText(response, 200, JSON.stringify({ status: 'ok', version, build }), 'application/json');
    } else if (path === '/readyz') {
      const ready = !this.#stopping && (await this.#isReady());
      sendText(response, ready ? 200 : 503, ready ? 'ready' : 'not ready');
    } else if (path !== '/mcp') {
      throw this.#notFound(path);
    } else if (request.method === 'OPTIONS') {
      sendPreflight(request, response, 'POST');
    } else {
      await this.#serveEndpoint(request, response);
    }
  }

  /** Creates the refusal of an unknown path. OAuth paths get an OAuth error body, because clients show its text. */
  #notFound(path: string): Refusal {
    const loginHint = this.#guard ? this.#guard.loginHint : 'this server needs no login';
    if (loginHint === undefined || !oauthPath.test(path)) return new Refusal(404, 'Not found: the endpoint is /mcp');
    const message = `Not found: ${loginHint}`;
    return new Refusal(404, message, { body: { error: 'invalid_request', error_description: message } });
  }

  async #serveEndpoint(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const client = (await this.#guard?.identify(request)) ?? {};
    checkMethodAndHeaders(request);
    this.#checkLoad();
    const body = await readRequestBody(this.#readBody, response);
    if (body === undefined) return;
    this.#guard?.permit?.(client, body);
    // Checked again, because the limit may have been reached while the body arrived. A call counts only from here on, so
    // that slow senders do not use up the limit.
    this.#checkLoad();
    this.#runningCalls += 1;
    response.once('close', () => {
      this.#runningCalls -= 1;
      // Refusals by the SDK do not throw, so they are reported here.
      if (response.writableFinished && response.statusCode >= 400) {
        const { log, onRefused } = this.#options;
        log('info', 'request refused', { request_id: request.headers[requestIdHeader], status: response.statusCode });
        onRefused?.(response.statusCode);
      }
    });
    await this.#respond(client, body, response);
  }

  #checkLoad(): void {
    if (this.#runningCalls >= httpLimits.maxCalls) throw tooBusy();
  }

  /** Responds, mostly through the SDK. A client that goes away or cancels aborts the call. */
  async #respond({ subject, createMcpServer }: ClientIdentity, body: unknown, response: ServerResponse): Promise<void> {
    const request = response.req;
    const cancelled = this.#cancellations.handle(body, subject, response);
    const authInfo = { token: '', clientId: subject ?? '', scopes: [], extra: { createMcpServer } };
    response.setTimeout(httpLimits.stallTimeoutMs);
    // Nothing behind this sees the token.
    delete request.headers.authorization;
    const toolCall = olderToolCall(body, request.headers);
    if (toolCall) {
      const server = (createMcpServer ?? this.#createMcpServer)();
      await serveDirectly(server, toolCall, response, { cancelled, maxSilenceMs: httpLimits.maxSilenceMs });
      return;
    }
    const watched = watchedIn(body);
    const handler = watched
      ? await this.#listen(watched, createMcpServer ?? this.#createMcpServer, response)
      : this.#handler;
    // The SDK builds a URL from the Host and fails for some allowed hosts.
    delete request.headers.host;
    const fetch = (adapted: Request): Promise<Response> => {
      const signal = AbortSignal.any([adapted.signal, cancelled]);
      const parsedBody = watched ? withWatchableOnly(body as JSONRPCMessage) : body;
      const responding = handler.fetch(new Request(adapted, { signal }), { parsedBody, authInfo });
      return keepResponseAlive(responding, httpLimits.maxSilenceMs);
    };
    await toNodeHandler({ fetch }, { maxRequestBodySize: httpLimits.maxBodyBytes })(request, response);
  }

  /** Returns the handler of a subscription, which watches its resources until the response closes or its time is over. */
  async #listen(
    uris: string[],
    { watch: createWatch }: ServerFactory,
    response: ServerResponse,
  ): Promise<McpHttpHandler> {
    if (this.#listening.size >= httpLimits.maxSubscriptions) throw tooBusy();
    const handler = this.#createHandler();
    const watch = createWatch((uri) => handler.notify.resourceUpdated(uri));
    this.#listening.add(handler);
    const timer = setTimeout(() => void handler.close(), httpLimits.maxListeningMs);
    response.once('close', () => {
      clearTimeout(timer);
      watch.close();
      this.#listening.delete(handler);
    });
    await watch.listen(0, uris);
    return handler;
  }
}

/** Paths at which clients look for an authorization server. */
const oauthPath = /^\/(register|authorize|token|\.well-known\/.*)$/;

/** Lets the web page that sent an allowed Origin read the response, whatever it will be. */
function setCorsHeaders({ headers: { origin } }: IncomingMessage, response: ServerResponse): void {
  if (origin === undefined) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', 'mcp-session-id, www-authenticate, retry-after, x-request-id');
  response.setHeader('vary', 'origin');
}

function sendMetadata(request: IncomingMessage, response: ServerResponse, document: object): void {
  response.setHeader('access-control-allow-origin', '*');
  if (request.method === 'OPTIONS') {
    sendPreflight(request, response, 'GET');
    return;
  }
  checkMethod(request, 'GET', 'HEAD');
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=300' });
  response.end(JSON.stringify(document));
}

function sendText(response: ServerResponse, status: number, text: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(`${text}\n`);
}

/** Answers a browser that asks for permission to send a request with this method; the caller sets the allowed origin. */
function sendPreflight({ headers }: IncomingMessage, response: ServerResponse, method: string): void {
  response.writeHead(204, {
    'access-control-allow-methods': method,
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '',
    'access-control-max-age': '600',
  });
  response.end();
}
