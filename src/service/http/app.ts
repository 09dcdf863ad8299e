import { pipeline } from 'node:stream/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, type Handler, Hono, type MiddlewareHandler } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import * as z from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Endpoint } from '../../contract/endpoint.ts';
import { type EndpointName, endpoints } from '../../contract/endpoints.ts';
import { inferencePath, pathSegment } from '../../contract/identifiers.ts';
import { validateValue } from '../../contract/validation.ts';
import { type ErrorDetail, HeddleError } from '../../core/errors.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { asRequestId, requestIdHeader } from '../../core/http/request-id.ts';
import type { Log } from '../../core/log.ts';
import { handlers } from '../operations/handlers.ts';
import type { OperationInput, ServiceContext } from '../operations/operation.ts';
import { RequestBudget } from '../request-budget.ts';
import { schemaDigest, storedDigest } from '../storage/schema.ts';
import type { Authenticate } from './authenticator.ts';
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
    const { method, path } = endpoints[name];
    const honoPath = path.replace('{path*}', '/:path{.+}').replaceAll(/\{(\w+)\}/g, ':$1');
    app.on(method, honoPath, serveEndpoint(name, options));
  }
  app.notFound((context) => context.json({ detail: 'Not Found' }, 404));
  app.onError(errorResponse);
  return app;
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
    const { version } = packageJson;
    if (schema === schemaDigest) return Response.json({ status: 'ok', version, schema });
    const reason = 'Another version of heddle has changed the schema of the data';
    return Response.json({ status: 'unavailable', reason, version, schema }, { status: 503 });
  } catch (error) {
    log('error', 'health check failed', { error: String(error) });
    return Response.json({ status: 'unavailable', reason: 'The database cannot be read' }, { status: 503 });
  }
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
    if (isAsyncIterable(result)) return sendLines(result, context);
    const isList = Array.isArray(result);
    const body = isList ? jsonLines(result) : jsonText(result);
    return context.body(body, 200, { 'Content-Type': isList ? lineType : 'application/json' });
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

/** Number of characters of lines that are collected before they are sent. */
const maxHeldChars = 256 * 1024;

/**
 * Sends values as lines while they are read. A short list is sent whole, with its length. A failure after the first part
 * breaks the connection, so that the client cannot mistake a partial list for a complete one.
 */
async function sendLines(values: AsyncIterable<unknown>, context: Context<AppEnvironment>): Promise<Response> {
  const parts = textParts(values);
  const first = await parts.next();
  const second = await parts.next();
  if (second.done) return context.body(first.value ?? '', 200, { 'Content-Type': lineType });
  const { outgoing } = context.env;
  outgoing.writeHead(200, { 'Content-Type': lineType });
  const all = async function* () {
    yield first.value;
    yield second.value;
    yield* parts;
  };
  await pipeline(all, outgoing).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE')
      context.get('log')('error', 'list interrupted', { error: error.stack });
  });
  return RESPONSE_ALREADY_SENT;
}

async function* textParts(values: AsyncIterable<unknown>): AsyncGenerator<string, undefined, undefined> {
  let held: string[] = [];
  let chars = 0;
  for await (const value of values) {
    const line = `${jsonText(value)}\n`;
    held.push(line);
    chars += line.length;
    if (chars < maxHeldChars) continue;
    yield held.join('');
    held = [];
    chars = 0;
  }
  if (held.length > 0) yield held.join('');
  return undefined;
}

/** Maximum number of characters of a list; a string cannot be much longer. */
const maxListChars = 256 * 1024 * 1024;

function jsonLines(values: readonly unknown[]): string {
  const lines: string[] = [];
  let chars = 0;
  for (const value of values) {
    const line = `${jsonText(value)}\n`;
    chars += line.length;
    if (chars > maxListChars) throw responseTooLarge();
    lines.push(line);
  }
  return lines.join('');
}

/** @throws Refusal 413 for a value whose JSON would be longer than a string can be. */
function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw error instanceof RangeError ? responseTooLarge() : error;
  }
}

function responseTooLarge(): Refusal {
  return new Refusal(413, 'The response would be too large: ask for less at once');
}

/** Maximum number of faults that a response lists. */
const maxDetails = 100;

function validate(schema: z.ZodType, value: unknown, root: 'path' | 'query' | 'body'): unknown {
  const { data, faults } = validateValue(schema, value, root);
  if (!faults) return data;
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
