import { pipeline } from 'node:stream/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, type Handler, Hono, type MiddlewareHandler } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import * as z from 'zod';
import type { Endpoint } from '../../contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import { inferencePath, pathSegment } from '../../contract/identifiers.ts';
import { validateValue } from '../../contract/validation.ts';
import { type ErrorDetail, HeddleError } from '../../core/errors.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { asRequestId, requestIdHeader } from '../../core/http/request-id.ts';
import { exactJson, exactNumberAt, replaceExactNumbers } from '../../core/json/exact-number.ts';
import type { Log } from '../../core/log.ts';
import { Pacer } from '../../core/turns.ts';
import { build, version } from '../../core/version.ts';
import { handlers } from '../operations/handlers.ts';
import type { OperationInput, ServiceContext } from '../operations/operation.ts';
import { RequestBudget } from '../request-budget.ts';
import { schemaDigest, storedDigest } from '../storage/schema.ts';
import type { Authenticate } from './authenticator.ts';
import { linkPage } from './link-page.ts';
import { openApiDocument } from './openapi.ts';
import { readJson } from './read-json.ts';
import { withUpload } from './read-upload.ts';
import { receiveTraces, tracesPaths } from './receive-traces.ts';

export interface AppOptions extends ServiceContext {
  authenticate: Authenticate;
  log: Log;
}

type AppEnvironment = { Bindings: HttpBindings; Variables: { log: Log; operation: EndpointName } };

/** Creates the service's HTTP application: the endpoints of the contract, OpenTelemetry's traces, `/health` and `/openapi.json`. */
export function createApp(options: AppOptions): Hono<AppEnvironment> {
  const app = new Hono<AppEnvironment>();
  app.use(logRequests(options.log));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }));
  app.get('/health', () => checkHealth(options));
  // Clients of the public service ask which version of the SDK is the oldest accepted; here every version is.
  app.get('/server_info', (context) => context.json({ min_required_weave_python_version: '0.0.1' }));
  // Created by the first request, then kept: requests for it need no account.
  let document: ReturnType<typeof openApiDocument> | undefined;
  app.get('/openapi.json', (context) => {
    document ??= openApiDocument();
    return context.json(document);
  });
  for (const path of tracesPaths) app.post(path, (context) => receiveTraces(context, options));
  for (const name of Object.keys(endpoints) as EndpointName[]) {
    const { method, path, alias }: Endpoint = endpoints[name];
    const honoPath = path.replace('{path*}', '/:path{.+}').replaceAll(/\{(\w+)\}/g, ':$1');
    app.on(method, alias === undefined ? [honoPath] : [honoPath, alias], serveEndpoint(name, options));
  }
  // The links that SDKs print.
  app.get('/:entity/:project/weave', (context) => linkPage(projectOf(context)));
  for (const path of ['/:entity/:project/r/call/:id', '/:entity/:project/weave/calls/:id']) {
    app.get(path, (context) => linkPage(projectOf(context), context.req.param('id')));
  }
  app.notFound((context) => context.json({ detail: 'Not Found' }, 404));
  app.onError(errorResponse);
  return app;
}

function projectOf(context: Context): string {
  return `${context.req.param('entity')}/${context.req.param('project')}`;
}

function logRequests(log: Log): MiddlewareHandler<AppEnvironment> {
  return async (context, next) => {
    const startedAt = performance.now();
    const request_id = asRequestId(context.req.header(requestIdHeader));
    context.set('log', (level, message, ...fields) => log(level, message, { request_id }, ...fields));
    await next();
    const { outgoing } = context.env;
    // The path is not logged: it may contain a user's data.
    context.get('log')('debug', 'request served', {
      method: context.req.method,
      operation: context.get('operation'),
      status: outgoing.headersSent ? outgoing.statusCode : context.res.status,
      duration_ms: Math.round(performance.now() - startedAt),
    });
  };
}

function refuseMethod(context: Context, methods: string[]): Response {
  const allowed = methods.filter((method) => method !== 'HEAD').sort();
  return context.json({ detail: 'Method Not Allowed' }, 405, { Allow: allowed.join(', ') });
}

async function checkHealth({ database, log }: AppOptions): Promise<Response> {
  try {
    const schema = await database.read(storedDigest);
    if (schema === schemaDigest) return healthResponse(200, { status: 'ok', version, build, schema });
    const reason = 'Another version of heddle has changed the schema of the data';
    return healthResponse(503, { status: 'unavailable', reason, version, build, schema });
  } catch (error) {
    log('error', 'health check failed', { error: String(error) });
    return healthResponse(503, { status: 'unavailable', reason: 'The database cannot be read' });
  }
}

/** Returns a response that ends its line in a terminal, where people ask for it. */
function healthResponse(status: number, health: object): Response {
  return new Response(`${JSON.stringify(health)}\n`, { status, headers: { 'content-type': 'application/json' } });
}

// `path` is the value of `{path*}`; every other parameter is one segment.
const pathParameters = z.object({ path: inferencePath.optional() }).catchall(pathSegment);

function serveEndpoint<Name extends EndpointName>(name: Name, options: AppOptions): Handler<AppEnvironment> {
  const endpoint: Endpoint = endpoints[name];
  return async (context) => {
    context.set('operation', name);
    const { path, ...segments } = context.req.param();
    const account = await options.authenticate(endpoint.auth, context.req.header('Authorization'));
    const { outgoing } = context.env;
    const budget = new RequestBudget(options.memoryPool, account.name);
    outgoing.once('close', () => budget.close());
    const checked = {
      account: account.name,
      maySee: account.maySee,
      path: validate(pathParameters, path === undefined ? segments : { path: `/${path}` }, 'path'),
      query: endpoint.query && validate(endpoint.query, queryOf(context), 'query'),
      budget,
      response: outgoing,
    };
    const run = (content: unknown) => {
      const body = endpoint.request && validate(endpoint.request, content, 'body');
      // The compiler cannot see that the endpoint's schemas produce this input.
      const input = { ...checked, body } as unknown as OperationInput<Name>;
      // The response must not tell a project that the account may not see from one that does not exist.
      if (!endpoint.projects(input).every(account.maySee)) throw new Refusal(403, 'Forbidden');
      return handlers[name](input, options);
    };
    const result = endpoint.form
      ? await withUpload(outgoing, run)
      : await run(endpoint.request && (await readJson(outgoing, budget)));
    if (result === undefined) return RESPONSE_ALREADY_SENT;
    if (result instanceof Response) return result;
    const isList = Array.isArray(result) || isAsyncIterable(result);
    return sendParts(isList ? jsonLines(result) : jsonParts(result), isList ? lineType : 'application/json', context);
  };
}

/** Returns the query parameters; the values of one that is repeated are a list. */
function queryOf(context: Context): Record<string, string | string[]> {
  const entries = Object.entries(context.req.queries());
  return Object.fromEntries(entries.map(([name, values]) => [name, values.length === 1 ? values[0]! : values]));
}

const lineType = 'application/x-ndjson';

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Number of characters that are collected before they are sent. */
const maxHeldChars = 256 * 1024;

/**
 * Sends the parts of a body while they are made, so that a long one does not keep others waiting. A short body is sent whole,
 * with its length. A failure after the first part breaks the connection, so that the client cannot mistake a partial
 * body for a complete one.
 */
async function sendParts(
  parts: AsyncIterable<string> | Iterable<string>,
  type: string,
  context: Context<AppEnvironment>,
): Promise<Response> {
  const collected = collectParts(parts);
  const first = await collected.next();
  const second = await collected.next();
  if (second.done) return context.body(first.value ?? '', 200, { 'Content-Type': type });
  const { outgoing } = context.env;
  outgoing.writeHead(200, { 'Content-Type': type });
  const all = async function* () {
    yield first.value;
    yield second.value;
    try {
      yield* collected;
    } catch (error) {
      // Reading also fails when the client has gone, which is no error.
      if (!outgoing.closed) {
        context.get('log')('error', 'response interrupted', { error: error instanceof Error ? error.stack : error });
      }
      throw error;
    }
  };
  // A failure has been logged, unless the client has gone.
  await pipeline(all, outgoing).catch(() => {});
  return RESPONSE_ALREADY_SENT;
}

async function* collectParts(
  parts: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<string, undefined, undefined> {
  let held: string[] = [];
  let chars = 0;
  // A client that reads fast enough never makes the response wait.
  const pacer = new Pacer();
  for await (const part of parts) {
    held.push(part);
    chars += part.length;
    if (chars < maxHeldChars) continue;
    yield held.join('');
    await pacer.pause();
    held = [];
    chars = 0;
  }
  if (held.length > 0) yield held.join('');
  return undefined;
}

/** Writes values as lines of JSON, without the characters that readers of lines may take for the end of a line. */
async function* jsonLines(values: AsyncIterable<unknown> | Iterable<unknown>): AsyncGenerator<string, void, undefined> {
  const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
  for await (const value of values) yield `${jsonText(value).replaceAll(/[\u0085\u2028\u2029]/g, escaped)}\n`;
}

/** Writes a result as JSON; the entries of its lists are parts. */
function* jsonParts(result: object): Generator<string, void, undefined> {
  let separator = '{';
  for (const [name, member] of Object.entries(result)) {
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    if (Array.isArray(member)) yield* listParts(member);
    else yield jsonText(member);
  }
  yield separator === '{' ? '{}' : '}';
}

function* listParts(entries: readonly unknown[]): Generator<string, void, undefined> {
  let separator = '[';
  for (const entry of entries) {
    yield separator + (jsonText(entry) ?? 'null');
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** @throws Refusal 413 for a value whose JSON would be longer than a string can be. */
function jsonText(value: unknown): string {
  try {
    return exactJson(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Refusal(413, 'The response would be too large: ask for less at once');
  }
}

/** Maximum number of faults that a response lists. */
const maxDetails = 100;

function validate(schema: z.ZodType, value: unknown, root: 'path' | 'query' | 'body'): unknown {
  let { data, faults } = validateValue(schema, value, root);
  // Members that take a number need no more than its value.
  let places = faults?.map(({ loc }) => loc.slice(1)) ?? [];
  if (replaceExactNumbers(value, places)) {
    ({ data, faults } = validateValue(schema, value, root));
    places = faults?.map(({ loc }) => loc.slice(1)) ?? [];
  }
  if (!faults) return data;
  for (const [index, fault] of faults.entries()) {
    const number = exactNumberAt(value, places[index] ?? []);
    if (number) fault.msg = `${number} cannot be kept exactly as a number`;
  }
  throw new Refusal(422, `Invalid ${root}`, { body: { detail: faults.slice(0, maxDetails) } });
}

function errorResponse(error: Error, context: Context<AppEnvironment>): Response {
  const operation = context.get('operation');
  const isInference = operation !== undefined && endpoints[operation].auth === 'bearer';
  const respond = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
    Response.json(isInference ? withOpenAiError(status, body) : body, { status, headers });
  if (error instanceof Refusal) return respond(error.status, error.body ?? { reason: error.message }, error.headers);
  const log = context.get('log');
  if (error instanceof HeddleError && error.status !== undefined) {
    const { status } = error;
    log(status >= 500 ? 'error' : 'info', error.message, { error: String(error.cause) });
    return respond(status, { reason: error.message }, error.retryable ? { 'Retry-After': '1' } : {});
  }
  log('error', 'unexpected failure', { error: error.stack });
  return respond(500, { reason: 'Internal Server Error' });
}

/** Adds an `error` in OpenAI's format to the body of an error response; clients of OpenAI's API show nothing else. */
function withOpenAiError(status: number, body: unknown): unknown {
  const { error, reason, detail } = body as { error?: unknown; reason?: string; detail?: ErrorDetail[] | string };
  if (error !== undefined) return body;
  const faults = Array.isArray(detail) ? detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ') : detail;
  const message = status === 401 ? 'The key is missing or unknown to this service.' : (reason ?? faults);
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  return {
    ...(body as object),
    error: { message, type, param: null, code: status === 401 ? 'invalid_api_key' : null },
  };
}
