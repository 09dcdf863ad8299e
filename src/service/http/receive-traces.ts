import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Context } from 'hono';
import { projectId } from '../../contract/identifiers.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { parseKeepingNumbers } from '../../core/json/exact-number.ts';
import { checkJsonLimits } from '../../core/json/parse-json.ts';
import { recordWhole } from '../operations/calls.ts';
import type { ServiceContext } from '../operations/operation.ts';
import { bytesPerSpan, decodeTraces, type SpanGroup } from '../otel/decode-protobuf.ts';
import { OtlpError, SpanFault } from '../otel/otlp-error.ts';
import { readOtlpJson } from '../otel/read-otlp-json.ts';
import { projectOfResource, readSpanResource, type SpanCall, spanToCall } from '../otel/span-to-call.ts';
import { RequestBudget } from '../request-budget.ts';
import { memoryBytesOf } from '../storage/memory-bytes.ts';
import type { Authenticate, AuthenticatedAccount } from './authenticator.ts';
import { maxBodyBytes, parseBody, readBytes } from './read-json.ts';

/** The paths at which the public service receives spans; the second one is what its newest SDKs use. */
export const tracesPaths = ['/otel/v1/traces', '/agents/otel/v1/traces'];

/**
 * Records the spans of a request in OTLP over HTTP as calls: none if the message is damaged. Spans that cannot be recorded are
 * counted in the response. See docs/opentelemetry.md.
 * @throws Refusal 400 for a damaged message or a missing project, 401, 403, 413 for too much at once, 415 for other formats.
 */
export async function receiveTraces(
  context: Context,
  options: ServiceContext & { authenticate: Authenticate },
): Promise<Response> {
  const { outgoing } = context.env;
  const account = await authenticate(context, options.authenticate);
  const isJson = isJsonType(context.req.header('Content-Type'));
  const header = context.req.header('project_id');
  const refusal = header === undefined ? undefined : refusalOf(header, account);
  if (refusal) throw refusal;
  const budget = new RequestBudget(options.memoryPool, account.name);
  outgoing.once('close', () => budget.close());
  const bytes = await decompress(await readBytes(outgoing), context.req.header('Content-Encoding'), budget);
  const { calls, rejected } = await readCalls(bytes, isJson, header, account, budget);
  await recordWhole(options.database, account.name, calls);
  // Many exporters do not show what was rejected.
  if (rejected.count > 0)
    context.get('log')('warn', 'spans rejected', { spans: rejected.count, reason: rejected.reason });
  return acknowledge(rejected, isJson);
}

/** Finds the account of the key, which comes in the header of the public service or as other keys do. */
function authenticate(context: Context, check: Authenticate): Promise<AuthenticatedAccount> {
  const key = context.req.header('wandb-api-key');
  const header = key === undefined ? context.req.header('Authorization') : `Bearer ${key}`;
  return check(/^bearer\b/i.test(header ?? '') ? 'bearer' : 'basic', header);
}

/** Returns true for JSON and false for protobuf. @throws Refusal 415 for another type. */
function isJsonType(type = ''): boolean {
  if (/^application\/json\b/i.test(type)) return true;
  if (/^application\/(x-)?protobuf\b/i.test(type)) return false;
  throw new Refusal(415, 'Send spans as application/x-protobuf or application/json', {
    headers: { 'Accept-Post': 'application/x-protobuf, application/json' },
  });
}

const inflate = promisify(gunzip);
const tooManySpans = 'send fewer spans at once';

async function decompress(bytes: Buffer, encoding: string | undefined, budget: RequestBudget): Promise<Buffer> {
  if (!encoding || /^identity$/i.test(encoding)) return bytes;
  if (!/^gzip$/i.test(encoding)) {
    throw new Refusal(415, 'Send spans uncompressed or with gzip', { headers: { 'Accept-Encoding': 'gzip' } });
  }
  await budget.reserve(maxBodyBytes, tooManySpans);
  try {
    return await inflate(bytes, { maxOutputLength: maxBodyBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new Refusal(413, `Payload too large: a request body may have ${maxBodyBytes} bytes when it is unpacked`);
    }
    throw new Refusal(400, 'The body is not valid gzip');
  } finally {
    budget.release(maxBodyBytes);
  }
}

interface Rejected {
  count: number;
  /** The reason of the first one. */
  reason: string;
}

/** Memory that is counted at once, in bytes. */
const bytesPerHold = 1024 * 1024;

/** Converts the spans of a message to calls. */
async function readCalls(
  bytes: Buffer,
  isJson: boolean,
  header: string | undefined,
  account: AuthenticatedAccount,
  budget: RequestBudget,
): Promise<{ calls: SpanCall[]; rejected: Rejected }> {
  let chargedBytes = 0;
  const charge = (memoryBytes: number): void => {
    chargedBytes += memoryBytes;
    if (chargedBytes < bytesPerHold) return;
    budget.hold(chargedBytes, tooManySpans);
    chargedBytes = 0;
  };
  const parseJson = (text: string): unknown => {
    checkJsonLimits(text);
    charge(memoryBytesOf(text));
    return parseKeepingNumbers(text);
  };
  const calls: SpanCall[] = [];
  const rejected: Rejected = { count: 0, reason: '' };
  let refusal: Refusal | undefined;
  const reject = (reason: string): void => {
    rejected.count += 1;
    rejected.reason ||= reason;
  };
  await budget.parse(bytes.length);
  try {
    const groups: SpanGroup[] = isJson ? readOtlpJson(await parseBody(bytes, budget)) : decodeTraces(bytes, charge);
    const { projects } = account;
    const onlyProject = projects !== 'all' && projects.length === 1 ? projects[0] : undefined;
    for (const { resource: given, spans } of groups) {
      const resource = readSpanResource(given, parseJson);
      const project = header ?? projectOfResource(resource) ?? onlyProject;
      const groupRefusal = refusalOf(project, account);
      refusal ??= groupRefusal;
      for (const span of spans) {
        charge(bytesPerSpan);
        await budget.parse(bytesPerSpan);
        if (project === undefined || groupRefusal) {
          reject(groupRefusal!.message);
          continue;
        }
        try {
          calls.push(spanToCall(span, resource, project, parseJson));
        } catch (error) {
          if (!(error instanceof SpanFault)) throw error;
          reject(error.message);
        }
      }
    }
  } catch (error) {
    if (error instanceof OtlpError || error instanceof SpanFault) throw new Refusal(400, error.message);
    throw error;
  }
  if (refusal && calls.length === 0) throw refusal;
  return { calls, rejected };
}

/** Returns the refusal of spans of a project; undefined if the account may record them. */
function refusalOf(project: string | undefined, { maySee }: AuthenticatedAccount): Refusal | undefined {
  if (project === undefined) {
    return new Refusal(
      400,
      'The spans name no project: set the header project_id to entity/project, or wandb.entity and wandb.project of the resource',
    );
  }
  if (!projectId.safeParse(project).success) {
    return new Refusal(400, 'The project of the spans must be written entity/project');
  }
  return maySee(project) ? undefined : new Refusal(403, 'Forbidden');
}

/**
 * Returns the response to spans that were received. The public service responds with JSON to both formats; what exporters have to read,
 * a partial success, comes in the format of the request.
 */
function acknowledge({ count, reason }: Rejected, isJson: boolean): Response {
  if (count === 0) return Response.json({ partial_success: null });
  if (isJson) return Response.json({ partialSuccess: { rejectedSpans: `${count}`, errorMessage: reason } });
  const message = Buffer.from(reason);
  const partialSuccess = [0x08, ...varint(count), 0x12, ...varint(message.length), ...message];
  const body = Buffer.from([0x0a, ...varint(partialSuccess.length), ...partialSuccess]);
  return new Response(body, { headers: { 'Content-Type': 'application/x-protobuf' } });
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}
