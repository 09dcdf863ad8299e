import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import * as z from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { type AuthScheme, type Endpoint, type EndpointName, endpoints } from '../../contract/endpoints.ts';
import { inferencePath, pathSegment } from '../../contract/identifiers.ts';
import { errorDetails } from '../../contract/validation-errors.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { asRequestId, requestIdHeader } from '../../core/request-id.ts';
import { handlers, type OperationCall, type OperationResult, type ServiceContext } from '../operations/index.ts';
import { schemaVersion } from '../storage/migrations.ts';
import type { Authenticator } from './authentication.ts';
import { Refusal, refusal } from './refusal.ts';
import { readJson } from './request-body.ts';

export interface AppOptions extends ServiceContext {
  authenticator: Authenticator;
  log: Log;
}

interface Route {
  name: EndpointName;
  endpoint: Endpoint;
  /** Matches the whole path, still percent-encoded; its groups are the parameters. */
  pattern: RegExp;
  parameters: z.ZodType<Record<string, string>>;
  answer: (call: OperationCall<never>, context: ServiceContext) => Promise<OperationResult>;
}

const routes = (Object.keys(endpoints) as EndpointName[]).map((name): Route => {
  const endpoint: Endpoint = endpoints[name];
  const shape: Record<string, z.ZodType<string>> = {};
  const pattern = endpoint.path.replaceAll(/\{(\w+)(\*?)\}|[.]/g, (found, parameter: string | undefined, rest) => {
    if (parameter === undefined) return `\\${found}`;
    shape[parameter] = rest ? inferencePath : pathSegment;
    return rest ? `(?<${parameter}>/.*)` : `(?<${parameter}>[^/]+)`;
  });
  return { name, endpoint, pattern: new RegExp(`^${pattern}$`), parameters: z.object(shape), answer: handlers[name] };
});

/** What anyone may read, without an account: it says nothing of what is stored. */
const openPaths = ['/health', '/openapi.json'];

/** The service as an HTTP application, driven by the contract's endpoint table. */
export function createApp(options: AppOptions): Hono<{ Bindings: HttpBindings }> {
  const { database } = options;
  const app = new Hono<{ Bindings: HttpBindings }>();

  app.get('/health', async () => {
    try {
      await database.read((transaction) => transaction.selectFrom('schema_version').select('version').execute());
      return Response.json({ status: 'ok', version: packageJson.version, schema_version: schemaVersion });
    } catch (error) {
      options.log('error', 'health check failed', { error: String(error) });
      return Response.json({ status: 'unavailable', reason: 'The database cannot be read' }, { status: 503 });
    }
  });

  app.get('/openapi.json', async () => Response.json((await import('./openapi.ts')).openApiDocument()));

  app.all('*', async (context) => {
    const started = performance.now();
    const { method } = context.req;
    const request_id = asRequestId(context.env.incoming.headers[requestIdHeader]);
    const log: Log = (level, message, ...fields) => options.log(level, message, { request_id }, ...fields);
    let operation: EndpointName | undefined;
    const { pathname: path, searchParams } = new URL(context.req.url);
    let response: Response;
    try {
      response = await answer(options, context.env, path, searchParams, (name) => (operation = name));
    } catch (error) {
      response = errorResponse(error, log);
    }
    const { outgoing } = context.env;
    const status = outgoing.headersSent ? outgoing.statusCode : response.status;
    const duration_ms = Math.round(performance.now() - started);
    // Not the path, in which arguments stand.
    log('debug', 'request served', { method, operation, status, duration_ms });
    return response;
  });
  return app;
}

async function answer(
  options: AppOptions,
  { incoming, outgoing }: HttpBindings,
  path: string,
  search: URLSearchParams,
  onRoute: (name: EndpointName) => void,
): Promise<Response> {
  const candidates = routes.filter(({ pattern }) => pattern.test(path));
  const route = candidates.find(({ endpoint }) => endpoint.method === incoming.method);
  if (!route) {
    if (candidates.length === 0 && !openPaths.includes(path)) throw new Refusal(404, { detail: 'Not Found' });
    const allowed = candidates.length === 0 ? ['GET'] : candidates.map(({ endpoint }) => endpoint.method);
    throw new Refusal(405, { detail: 'Method Not Allowed' }, { Allow: allowed.sort().join(', ') });
  }
  onRoute(route.name);
  const account = await authorize(options.authenticator, route.endpoint.auth, incoming.headers.authorization);
  const groups = Object.entries(route.pattern.exec(path)?.groups ?? {}).map(([name, text]) => [name, decode(text)]);
  const parameters = validate(route.parameters, Object.fromEntries(groups), 'path');
  const query = route.endpoint.query && validate(route.endpoint.query, Object.fromEntries(search), 'query');
  const body = route.endpoint.request && validate(route.endpoint.request, await readJson(incoming), 'body');
  // The table pairs the endpoint's schema with its handler, which the compiler cannot follow through the loop.
  const call = { account, path: parameters, query, body, response: outgoing } as unknown as OperationCall<never>;
  const result = await route.answer(call, options);
  if (result instanceof Response) return result;
  if (Array.isArray(result)) {
    send(outgoing, 'application/x-ndjson', result.map((value) => `${JSON.stringify(value)}\n`).join(''));
  } else if (result !== undefined) send(outgoing, 'application/json', JSON.stringify(result));
  return RESPONSE_ALREADY_SENT;
}

/** Past the Response of the platform, whose streams take longer than what most handlers do. */
function send(outgoing: HttpBindings['outgoing'], type: string, text: string): void {
  outgoing.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Left as it is, its per cent sign fails the validation.
    return text;
  }
}

function validate<Value>(schema: z.ZodType<Value>, value: unknown, root: 'path' | 'query' | 'body'): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Refusal(422, { detail: errorDetails(parsed.error, root) });
}

async function authorize(
  authenticator: Authenticator,
  scheme: AuthScheme,
  header: string | undefined,
): Promise<string> {
  const challenge = { 'WWW-Authenticate': `${scheme === 'basic' ? 'Basic' : 'Bearer'} realm="heddle"` };
  if (header === undefined) throw new Refusal(401, { detail: 'Not authenticated' }, challenge);
  const [given = '', credentials = ''] = header.split(/ +/);
  const account = given.toLowerCase() === scheme ? await authenticator[scheme](credentials) : undefined;
  if (account === undefined) throw new Refusal(401, { reason: '401 Error' }, challenge);
  return account;
}

function errorResponse(error: unknown, log: Log): Response {
  if (error instanceof Refusal) return Response.json(error.body, { status: error.status, headers: error.headers });
  if (error instanceof HeddleError && error.status !== undefined) {
    const { status } = error;
    log(status >= 500 ? 'error' : 'info', error.message, { error: String(error.cause) });
    return Response.json({ reason: error.message }, { status, headers: error.retryable ? { 'Retry-After': '1' } : {} });
  }
  log('error', 'unexpected failure', { error: error instanceof Error ? error.stack : String(error) });
  const { status, body } = refusal(500, 'Internal Server Error');
  return Response.json(body, { status });
}
