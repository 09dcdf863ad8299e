import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { loadLoginPage } from '../../board/hosted-pages.ts';
import { views } from '../../board/views.ts';
import type { ServiceClient } from '../../client/service-client.ts';
import { HeddleError, notConfigured, undefinedOnError } from '../../core/errors.ts';
import { createBodyReader } from '../../core/http/body-reader.ts';
import { isLoopbackHost } from '../../core/http/loopback.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { requestIdHeader } from '../../core/http/request-id.ts';
import type { Log } from '../../core/log.ts';
import type { Redactor } from '../../core/secrets/redaction.ts';
import { AccessChecks, checkMethod } from '../../mcp/http/guard.ts';
import { httpLimits } from '../../mcp/http/http-limits.ts';
import { runTool } from '../../mcp/run-tool.ts';
import type { BoardSessions, NewSession, RunningService } from '../../service/start-service.ts';
import type { SettingValues } from '../../settings/settings.ts';
import { selectTools } from '../../tools/definition/registry.ts';
import { openServiceClient } from '../runtime.ts';
import { contentPolicy, minResultChars, parsePageBody, securityHeaders, send } from '../serve-page.ts';
import { AccountClients } from './account-clients.ts';
import { BoardCookies, pendingSeconds } from './cookies.ts';
import { GuessLimit } from './guess-limit.ts';
import { IssuerLogin, type PendingLogin } from './issuer-login.ts';

export interface HostedBoardOptions {
  values: SettingValues;
  /** True if only this machine can reach the server. */
  isLoopback: boolean;
  /** Returns the service of this process, which was given the board's `key`. */
  service: () => Promise<Pick<RunningService, 'url' | 'boardSessions'>>;
  log: Log;
  redactor: Redactor;
}

/** The place that a person wants to see: a project, and a queue in it. */
interface Place {
  project?: string | undefined;
  queue?: string | undefined;
}

/** A request for one of the board's paths. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
  /** Origin of the board as the browser knows it. */
  origin: string;
  sessions: BoardSessions;
  /** Reads the body of a request that only a page of the board can send; undefined if the browser has gone. */
  body: () => Promise<object | undefined>;
}

/** Serves the review board to people in their browsers, each as an account of the embedded service of this process. */
export class HostedBoard {
  /** Password with which the service lets this board act as any account; see `ServiceOptions`. */
  readonly key = randomBytes(32).toString('base64url');
  readonly #options: HostedBoardOptions;
  readonly #publicOrigin: string | undefined;
  readonly #access: AccessChecks;
  readonly #cookies: BoardCookies;
  readonly #clients = new AccountClients((account) => this.#openClient(account));
  readonly #guesses = new GuessLimit();
  readonly #issuer: IssuerLogin | undefined;
  readonly #readBody = createBodyReader(httpLimits.maxBodyBytes, httpLimits.maxTotalBodyBytes);
  readonly #view = views.find(({ name }) => name === 'review')!;
  readonly #routes: ReadonlyMap<string, (exchange: Exchange) => Promise<void>> = new Map([
    ['/board', (exchange) => this.#addSlash(exchange)],
    ['/board/', (exchange) => this.#sendPage(exchange, this.#view.loadForBrowser)],
    ['/board/login', (exchange) => this.#sendPage(exchange, loadLoginPage)],
    ['/board/password', (exchange) => this.#logIn(exchange)],
    ['/board/invitation', (exchange) => this.#useInvitation(exchange)],
    ['/board/issuer', (exchange) => this.#goToIssuer(exchange)],
    ['/board/callback', (exchange) => this.#returnFromIssuer(exchange)],
    ['/board/session', (exchange) => this.#readSession(exchange)],
    ['/board/call', (exchange) => this.#call(exchange)],
    ['/board/logout', (exchange) => this.#logOut(exchange)],
  ]);

  /** @throws HeddleError `not_configured` if browsers could only reach it without TLS. */
  constructor(options: HostedBoardOptions) {
    const { values, isLoopback, log, redactor } = options;
    this.#options = options;
    this.#publicOrigin = values.publicUrl && new URL(values.publicUrl).origin;
    checkAddress(this.#publicOrigin, isLoopback);
    const isSecure = this.#publicOrigin?.startsWith('https:') ?? false;
    this.#access = new AccessChecks(this.#publicOrigin ? [new URL(this.#publicOrigin).hostname] : [], []);
    this.#cookies = new BoardCookies(isSecure);
    this.#issuer = IssuerLogin.from(values, log);
    redactor.protect(this.key);
  }

  /** Serves a request for the board; returns undefined for any other path. */
  readonly serve = (request: IncomingMessage, response: ServerResponse): Promise<void> | undefined => {
    const route = this.#routes.get(request.url?.split('?')[0] ?? '');
    return route && this.#serve(route, request, response);
  };

  /** Closes the connections to the service. */
  async close(): Promise<void> {
    await this.#clients.close();
    this.#issuer?.close();
  }

  async #serve(
    route: (exchange: Exchange) => Promise<void>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    response.setHeader('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
    try {
      this.#access.checkHost(request);
      const origin = this.#publicOrigin ?? `http://${request.headers.host}`;
      const url = new URL(request.url!, origin);
      const { boardSessions: sessions } = await this.#options.service();
      const body = () => this.#readOwnBody(request, response, origin);
      await route({ request, response, url, origin, sessions, body });
    } catch (error) {
      const refusal = error instanceof HeddleError && error.status ? new Refusal(error.status, error.message) : error;
      if (!(refusal instanceof Refusal)) throw error;
      const { status, message, headers, body = { error: message } } = refusal;
      throw new Refusal(status, message, { headers, body });
    }
  }

  /**
   * Reads a body that a page of the board has sent.
   * @throws Refusal 403 for a request of any other page, 415 for one that a form could send.
   */
  async #readOwnBody(request: IncomingMessage, response: ServerResponse, origin: string): Promise<object | undefined> {
    checkMethod(request, 'POST');
    const { headers } = request;
    if (headers.origin !== origin || !['same-origin', undefined].includes(headers['sec-fetch-site'] as string)) {
      this.#warn(request, 'request of another site refused', { origin: headers.origin?.slice(0, 200) });
      throw new Refusal(403, 'Forbidden: only a page of this board may send this');
    }
    if (headers['content-type'] !== 'application/json') {
      throw new Refusal(415, 'Unsupported media type: Content-Type must be application/json');
    }
    const bytes = await this.#readBody(response);
    return bytes && parsePageBody(bytes);
  }

  async #addSlash({ request, response, url }: Exchange): Promise<void> {
    checkMethod(request, 'GET', 'HEAD');
    response.writeHead(308, { location: `/board/${url.search}` }).end();
  }

  /** Sends a page, which holds no data; what it shows it asks for with the cookie. */
  async #sendPage({ request, response }: Exchange, load: () => Promise<string>): Promise<void> {
    checkMethod(request, 'GET', 'HEAD');
    const html = await load();
    response.setHeader('content-security-policy', contentPolicy(html));
    send(response, 'text/html; charset=utf-8', html);
  }

  async #logIn({ request, response, url, sessions, body }: Exchange): Promise<void> {
    const given = await body();
    if (!given) return;
    const { name, password } = given as { name?: unknown; password?: unknown };
    const refused = new Refusal(401, 'The name or the password is wrong');
    // Anything else is the name of no account.
    if (typeof name !== 'string' || typeof password !== 'string' || !accountName.test(name)) {
      this.#warn(request, 'login refused', { reason: 'wrong name or password' });
      throw refused;
    }
    const { waitSeconds, isFirstRefusal } = this.#guesses.take(name);
    if (waitSeconds > 0) {
      if (isFirstRefusal) this.#warn(request, 'logins refused for a while', await knownName(sessions, name));
      throw new Refusal(429, 'There were too many attempts for this name', {
        headers: { 'retry-after': String(waitSeconds) },
      });
    }
    const session = await sessions.logIn(name, password, this.#cookies.read(request, 'session'));
    if (!session) {
      this.#warn(request, 'login refused', {
        reason: 'wrong name or password',
        ...(await knownName(sessions, name)),
      });
      throw refused;
    }
    this.#guesses.forget(name);
    this.#startSession(request, response, session, 'password');
    sendJson(response, { location: locationOf(placeOf(url)) });
  }

  async #useInvitation({ request, response, sessions, body }: Exchange): Promise<void> {
    const given = await body();
    if (!given) return;
    const { token, check } = given as { token?: unknown; check?: unknown };
    const cookie = this.#cookies.read(request, 'session');
    if (check === true) {
      sendJson(response, await this.#checkInvitation(request, String(token), cookie, sessions));
      return;
    }
    const used = await sessions.useInvitation(String(token), cookie);
    if ('refused' in used) {
      this.#warn(request, 'invitation refused', { reason: used.refused, account: used.account });
      throw new Refusal(410, invitationFaults[used.refused]);
    }
    this.#startSession(request, response, used.session, 'invitation');
    sendJson(response, { location: locationOf({ project: used.project, queue: used.queue ?? undefined }) });
  }

  /** Tells the page of an invitation whose it is and who is logged in, without using it. */
  async #checkInvitation(
    request: IncomingMessage,
    token: string,
    cookie: string | undefined,
    sessions: BoardSessions,
  ): Promise<object> {
    const [found, current] = await Promise.all([sessions.readInvitation(token), cookie && sessions.accountOf(cookie)]);
    const { account, project_id: project, queue_id: queue } = found;
    const members = { ...(account !== undefined && { account }), ...(current && { current }) };
    // Where the person is logged in, a link that is used up still leads to the queue.
    if ('refused' in found && (account === undefined || account !== current)) {
      this.#warn(request, 'invitation refused', { reason: found.refused, account });
      return { ...members, fault: invitationFaults[found.refused] };
    }
    return { ...members, location: locationOf({ project, queue: queue ?? undefined }) };
  }

  async #goToIssuer({ response, url, origin, body }: Exchange): Promise<void> {
    if (!(await body())) return;
    const { address, pending } = await this.#requireIssuer().begin(`${origin}/board/callback`);
    // The cookie ties the login to this browser: nobody can finish in it what another browser has begun.
    const value = Buffer.from(JSON.stringify({ ...pending, ...placeOf(url) })).toString('base64url');
    this.#cookies.set(response, 'login', value, pendingSeconds);
    sendJson(response, { location: address });
  }

  async #returnFromIssuer({ request, response, url, origin, sessions }: Exchange): Promise<void> {
    checkMethod(request, 'GET');
    const issuer = this.#requireIssuer();
    const pending = pendingFrom(this.#cookies.read(request, 'login'));
    this.#cookies.set(response, 'login', '', 0);
    const fail = (reason: string, code: string, fields = {}): void => {
      this.#warn(request, 'login refused', { reason, ...fields });
      response.writeHead(303, { location: `/board/login#failed=${code}` }).end();
    };
    if (!pending) return fail('it was not begun in this browser, or more than ten minutes ago', 'expired');
    const outcome = await issuer.finish(new URL(url.pathname + url.search, origin), pending);
    if ('failure' in outcome) return fail(outcome.failure, 'issuer');
    const names = outcome.names.filter((name) => accountName.test(name));
    const session = await sessions.logInAs(names, this.#cookies.read(request, 'session'));
    if (!session) return fail('the person has no account', 'no-account', { names: outcome.names.join(', ') || 'none' });
    this.#startSession(request, response, session, 'issuer');
    response.writeHead(303, { location: locationOf(pending) }).end();
  }

  /** Tells a page who is logged in, and what it should show. */
  async #readSession({ request, response, url, sessions, body }: Exchange): Promise<void> {
    const given = await body();
    if (!given) return;
    const account = await this.#requireSession(request, sessions);
    const place = placeOf(url);
    if (place.project !== undefined && !(await sessions.maySee(account, place.project))) {
      this.#warn(request, 'request refused', { account, reason: 'the account does not see the project' });
      throw new Refusal(403, 'Forbidden: your account does not see this project');
    }
    const isListed = 'projects' in given || place.project === undefined;
    const projects = isListed ? await sessions.projectsOf(account) : undefined;
    const project = place.project ?? projects?.[0];
    if (project === undefined) throw new Refusal(403, 'Forbidden: your account sees no project');
    sendJson(response, {
      account,
      project,
      ...('projects' in given && { projects }),
      arguments: place.queue === undefined ? {} : { queue_id: place.queue },
    });
  }

  /** Runs a tool for a page, as the account of its session. */
  async #call({ request, response, url, sessions, body }: Exchange): Promise<void> {
    const given = await body();
    if (!given) return;
    const account = await this.#requireSession(request, sessions);
    const { name, arguments: args, account: expected = account } = given as Record<string, unknown>;
    // Another tab may have logged in as someone else, and what the page decided must not become theirs.
    if (expected !== account) throw new Refusal(409, `This browser is now logged in as ${account}. Reload the page`);
    const { values, log, redactor } = this.#options;
    const tools = selectTools({ readOnly: values.readOnly, only: undefined });
    const tool = tools.find((candidate) => candidate.name === name && this.#view.tools.includes(candidate.name));
    if (!tool) throw new Refusal(404, 'Not found: this page does not use this tool');
    const pageGone = new AbortController();
    response.once('close', () => pageGone.abort());
    const requestId = request.headers[requestIdHeader] as string;
    const maxResultChars = Math.max(values.maxResultChars, minResultChars);
    const { project } = placeOf(url);
    const outcome = await this.#clients.use(account, (client) =>
      runTool(
        tool,
        args,
        { signal: pageGone.signal, requestId },
        {
          ...(project !== undefined && { project }),
          text: 'compact',
          service: () => client,
          maxResultChars,
          // People on the board have no terminal.
          terminal: { program: 'heddle', flags: new Map() },
          tools,
          log,
          redactor,
        },
      ),
    );
    if ('error' in outcome && outcome.error.code === 'forbidden') {
      this.#warn(request, 'request refused', {
        account,
        tool: tool.name,
        reason: 'the account does not see the project',
      });
    }
    sendJson(response, 'error' in outcome ? outcome : { data: outcome.data });
  }

  async #logOut({ request, response, sessions, body }: Exchange): Promise<void> {
    if (!(await body())) return;
    const token = this.#cookies.read(request, 'session');
    if (token !== undefined) await sessions.end(token);
    this.#cookies.set(response, 'session', '', 0);
    sendJson(response, {});
  }

  #startSession(
    request: IncomingMessage,
    response: ServerResponse,
    { token, maxAgeSeconds, account }: NewSession,
    by: string,
  ): void {
    this.#cookies.set(response, 'session', token, maxAgeSeconds);
    this.#options.log('info', 'logged in', { request_id: request.headers[requestIdHeader], account, by });
  }

  /** @throws Refusal 401 for a browser that is not logged in. */
  async #requireSession(request: IncomingMessage, sessions: BoardSessions): Promise<string> {
    const token = this.#cookies.read(request, 'session');
    const account = token && (await sessions.accountOf(token));
    if (account) return account;
    const message = 'Unauthorized: log in first';
    throw new Refusal(401, message, { body: { error: message, has_issuer: this.#issuer !== undefined } });
  }

  #requireIssuer(): IssuerLogin {
    if (this.#issuer) return this.#issuer;
    throw new Refusal(404, 'Not found: no issuer is configured');
  }

  async #openClient(account: string): Promise<ServiceClient> {
    const { service, values, log, redactor } = this.#options;
    const connection = {
      baseUrl: reachableUrl((await service()).url),
      basic: { username: account, password: this.key },
      bearer: undefined,
      userId: account,
    };
    // It is this process itself.
    const direct = { ...values, httpProxy: undefined, httpsProxy: undefined };
    return openServiceClient(async () => connection, direct, { log, redactor });
  }

  /** Logs what the operator should know of. */
  #warn({ headers }: IncomingMessage, message: string, fields: Record<string, unknown>): void {
    this.#options.log('warn', message, { request_id: headers[requestIdHeader] }, fields);
  }
}

/** The names that accounts can have. */
const accountName = /^[\w.@-]{1,64}$/;

const invitationFaults = {
  unknown: 'This is no invitation that is known here',
  used: 'This invitation has been used',
  expired: 'This invitation has expired',
};

/** @throws HeddleError `not_configured` if passwords and cookies would cross a network without TLS. */
function checkAddress(publicOrigin: string | undefined, isLoopback: boolean): void {
  const hint = 'Put a proxy with TLS in front, and set --public-url or HEDDLE_PUBLIC_URL to its https address.';
  if (publicOrigin === undefined) {
    if (isLoopback) return;
    throw notConfigured('Beyond loopback, --board needs the address under which browsers reach it.', hint);
  }
  const { protocol, hostname } = new URL(publicOrigin);
  if (protocol === 'https:' || isLoopbackHost(hostname)) return;
  throw notConfigured('The public URL is http, which would send the cookies of the board over the network.', hint);
}

/** Returns the URL of a server for requests from this machine. */
function reachableUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Returns the name of an account, for the log: a name without an account may be a password in the wrong field. */
async function knownName(sessions: BoardSessions, name: string): Promise<{ account?: string }> {
  return (await sessions.isAccount(name)) ? { account: name } : {};
}

/** Longest name of a project or queue in an address, in characters. */
const maxNameChars = 520;

function placeOf({ searchParams }: URL): Place {
  const named = (name: string): string | undefined => searchParams.get(name)?.slice(0, maxNameChars) || undefined;
  return { project: named('project'), queue: named('queue') };
}

/** Returns the address of the board at a place. It is always on this server: no address comes from outside. */
function locationOf({ project, queue }: Place): string {
  const query = new URLSearchParams({ ...(project && { project }), ...(queue && { queue }) }).toString();
  return `/board/${query && `?${query}`}`;
}

/** Reads the cookie of a login under way; undefined if there is none or it is too old. */
function pendingFrom(cookie: string | undefined): (PendingLogin & Place) | undefined {
  if (cookie === undefined) return undefined;
  return undefinedOnError(() => {
    const pending = JSON.parse(Buffer.from(cookie, 'base64url').toString()) as PendingLogin & Place;
    const ageMs = Date.now() - pending.startedAtMs;
    return ageMs >= 0 && ageMs <= pendingSeconds * 1000 ? pending : undefined;
  });
}

function sendJson(response: ServerResponse, body: object): void {
  send(response, 'application/json', JSON.stringify(body));
}
