import type { AuthScheme } from '../contract/endpoint.ts';
import { validationErrorBody } from '../contract/validation.ts';
import { type ErrorCode, type ErrorDetail, HeddleError } from '../core/errors.ts';
import {
  certificateCodes,
  closedCode,
  type HttpResponse,
  networkCode,
  networkReason,
  tlsCodes,
} from '../core/http/http-client.ts';
import { proxyFailedCode } from '../core/http/proxies.ts';
import { retryAfterMs } from '../core/http/retry-after.ts';
import { ownMember } from '../core/json/member-at.ts';
import { parseJsonText } from '../core/json/parse-json.ts';
import type { SecretSearch } from '../core/secrets/secret-search.ts';

/** Maximum length of a quotation from the service in an error, in characters. */
const maxQuotationChars = 500;

/** Facts about a request that its errors mention. */
export interface RequestInfo {
  /** Method and path. */
  requestLine: string;
  /** The setting that holds the address of the operation, the base URL by default; hints name it. */
  setting?: 'base URL' | 'inference URL';
  /** Name of the endpoint in the contract's table. */
  endpointName: string;
  auth: AuthScheme;
  /** True if the service may run it twice without harm. */
  repeatable: boolean;
  /** Removes secrets from text of the service before it is quoted. */
  redact: (text: string) => string;
  /** The same for text that may end inside of a secret. */
  redactCut: (text: string) => string | Promise<string>;
  /** Returns a search for secrets in the JSON of the response. */
  searchSecrets?: (() => SecretSearch) | undefined;
}

/** A response whose body was read. */
export type ServiceResponse = Omit<HttpResponse, 'body'> & { body: string };

/** One kind of failure, as the tables below list them. */
interface FailureKind {
  code: ErrorCode;
  hint: string;
  retryable?: boolean;
  /** True if the service may have done the work despite the failure. */
  mayHaveRun?: boolean;
}

/** A kind of failure that the service reports. `summary` continues "The service …". */
type StatusFailure = FailureKind & { summary: string };

const missingOperation: StatusFailure = {
  code: 'unsupported',
  summary: 'does not have this operation',
  hint: 'Another deployment of the service may have it; this one does not.',
};
const redirect: StatusFailure = {
  code: 'bad_response',
  summary: 'sent a redirect, which is not followed with credentials',
  hint: 'Ask the user to set the base URL to the real address of the service.',
};
const clientFault: StatusFailure = {
  code: 'invalid_request',
  summary: 'refused the request',
  hint: 'Correct the call, then try again.',
};
const serviceFault: StatusFailure = {
  code: 'service_unavailable',
  summary: 'failed',
  hint: 'The fault is with the service. Try again later; if it persists, tell the user.',
  retryable: true,
  mayHaveRun: true,
};
const statusFailures: Partial<Record<number, StatusFailure>> = {
  401: {
    code: 'unauthorized',
    summary: 'rejected the credentials',
    hint: 'Ask the user to run `heddle login` again, or correct the credentials in the environment.',
  },
  402: { code: 'quota_exceeded', summary: 'reports that a quota is used up', hint: 'Ask the user to check the plan.' },
  403: { code: 'forbidden', summary: 'refused access', hint: 'Check the project, or ask its owner for access.' },
  404: { code: 'not_found', summary: 'did not find it', hint: 'Check the identifiers, references and the project.' },
  408: { ...serviceFault, code: 'timeout', summary: 'gave up waiting' },
  409: { code: 'conflict', summary: 'reports a conflict', hint: 'Read the current state, then decide again.' },
  413: { code: 'too_large', summary: 'finds the request too large', hint: 'Send less at once.' },
  422: {
    code: 'validation_failed',
    summary: 'found the request invalid',
    hint: 'Correct the members listed in detail.',
  },
  429: {
    code: 'rate_limited',
    summary: 'limits the rate of requests',
    hint: 'Wait as long as retry_after_ms says, or a minute, and send fewer calls at once.',
    retryable: true,
  },
  503: { ...serviceFault, mayHaveRun: false },
};

const brokenConnection: FailureKind = {
  code: 'network',
  hint: 'Ask the user to check the network and the base URL with `heddle doctor`; then try again.',
  retryable: true,
  mayHaveRun: true,
};
/** Failures of a connection; `pattern` matches the code of the error. */
const networkFailures: (FailureKind & { pattern: RegExp })[] = [
  {
    ...brokenConnection,
    pattern: /^ECONNREFUSED$/,
    hint: 'Nothing listens there. Ask the user to start the service (`heddle service start` if it is one of heddle), or to check the base URL with `heddle doctor`; then try again.',
  },
  {
    pattern: /^(HPE_|UND_ERR_HEADERS_OVERFLOW|Z_|ERR__ERROR_|ERR_BROTLI)/,
    code: 'bad_response',
    hint: 'Ask the user to check that the base URL points to the API of the service, and any proxy in between.',
  },
  {
    pattern: new RegExp(`^${closedCode}$`),
    code: 'cancelled',
    hint: 'heddle is shutting down. Call again later.',
    mayHaveRun: true,
  },
  {
    pattern: new RegExp(`^${proxyFailedCode}$`),
    code: 'network',
    hint: 'Ask the user to check HTTPS_PROXY, or HTTP_PROXY for an http address: the address of the proxy and, if it requires them, the user name and password. NO_PROXY lists hosts to reach without it.',
    retryable: true,
  },
  {
    pattern: certificateCodes,
    code: 'network',
    hint: 'The certificate of the service cannot be verified. Ask the user to check the base URL, or trust the issuer with NODE_EXTRA_CA_CERTS.',
  },
  {
    pattern: tlsCodes,
    code: 'network',
    hint: 'The TLS connection failed. Ask the user to check https and the port in the base URL.',
  },
];

const forwardedHint =
  'Or the proxy sent this in place of the service: then ask the user to check HTTP_PROXY, or list the host of the service in NO_PROXY.';

const mayHaveRunHint = 'The service may have carried it out: check before you send it again.';

/** Returns the error for an unsuccessful response. Reads every form of error body that services with this interface send. */
export function failureOf(response: ServiceResponse, info: RequestInfo): HeddleError {
  const { text, detail } = readErrorBody(response.body);
  const { code, summary, hint, retryable, mayHaveRun } = kindOf(response, text);
  const schemeName = info.auth === 'basic' ? 'Basic' : 'Bearer';
  const scheme = code === 'unauthorized' || code === 'forbidden' ? ` (${schemeName})` : '';
  const quotation = text === undefined ? '' : `: ${quote(text, info)}`;
  const { proxy } = response;
  const through = proxy === undefined ? '' : ` through the proxy ${proxy}`;
  const isPerhapsOfProxy = proxy !== undefined && (response.status >= 500 || [401, 403].includes(response.status));
  const advice = isPerhapsOfProxy ? `${hint} ${forwardedHint}` : hint;
  // A date in Retry-After follows the clock of the service.
  const now = Date.parse(String(response.headers.date)) || Date.now();
  return new HeddleError({
    code,
    message: `The service ${summary}${scheme}, status ${response.status}, on ${info.requestLine}${through}${quotation}.`,
    hint: mayHaveRun && !info.repeatable ? mayHaveRunHint : namingSetting(advice, info),
    status: response.status,
    detail: detail?.map((entry) => ({ ...entry, msg: truncate(info.redact(entry.msg)) })),
    // A quotation that is cut may lack any of them.
    statedDetails: text !== undefined && info.redact(text).length > maxQuotationChars ? 0 : undefined,
    retryable,
    endpoint: code === 'unsupported' ? info.endpointName : undefined,
    retryAfterMs: retryAfterMs(response.headers['retry-after'], now),
  });
}

function kindOf({ status, body }: ServiceResponse, text: string | undefined): StatusFailure {
  // A router reports a missing route in its own words, or without any.
  const missingRoute = text === undefined || /"detail"\s*:\s*"Not ?Found"/.test(body);
  if (status === 405 || status === 501 || (status === 404 && missingRoute)) return missingOperation;
  // Some services answer a request without a usable bearer token with 403.
  if (status === 403 && text === 'Not authenticated') return statusFailures[401]!;
  const generic = status >= 500 ? serviceFault : status < 400 ? redirect : clientFault;
  return statusFailures[status] ?? generic;
}

/** Returns the error for a success whose body breaks the interface: HTML, truncated JSON, another shape. */
export function badResponse(
  response: ServiceResponse,
  info: RequestInfo,
  reason: string,
  detail?: ErrorDetail[],
): HeddleError {
  // The first cut may split a secret, which is then not recognized; the second cut removes it.
  const start = info.redact(response.body.trim().slice(0, 64 * 1024)).slice(0, 120);
  const excerpt = detail || start === '' ? '' : ` It starts with ${quote(start, info)}`;
  return new HeddleError({
    code: 'bad_response',
    message: `The service answered ${info.requestLine} with status ${response.status}, but ${reason}.${excerpt}`,
    hint: namingSetting(
      'Ask the user to check that the base URL points to the API of the service, not a web page or a proxy.',
      info,
    ),
    status: response.status,
    detail,
    statedDetails: 0,
  });
}

/**
 * Returns the error for a request without a complete response: connection refused or reset, name not resolved,
 * certificate not trusted, not an HTTP response.
 */
export function networkFailure(error: unknown, info: RequestInfo, origin: string, notSent: boolean): HeddleError {
  const code = networkCode(error) ?? '';
  const kind = networkFailures.find(({ pattern }) => pattern.test(code)) ?? brokenConnection;
  const reason = truncate(info.redact(networkReason(error)));
  const suffix = code && !reason.includes(code) ? ` (${code})` : '';
  return new HeddleError({
    code: kind.code,
    message: `No complete response from ${origin} to ${info.requestLine}: ${reason}${suffix}.`,
    hint: kind.mayHaveRun && !info.repeatable && !notSent ? mayHaveRunHint : namingSetting(kind.hint, info),
    retryable: kind.retryable,
    cause: error,
  });
}

/** Makes a hint name the setting that holds the address of the request. */
function namingSetting(hint: string, { setting = 'base URL' }: RequestInfo): string {
  return hint.replace('base URL', setting);
}

/** Returns the error for a request that its caller cancelled. */
export function cancellation({ requestLine }: RequestInfo, partialText: string | undefined): HeddleError {
  return new HeddleError({
    code: 'cancelled',
    message: `${requestLine} was cancelled.`,
    hint: 'Nothing to do.',
    partialText,
  });
}

/** Returns the error for a request that missed its deadline. `timeoutSetting` names the setting that raises it; `isAnswered` is
 * true once the response has begun to arrive. */
export function timeoutFailure(
  { requestLine, repeatable }: RequestInfo,
  options: { timeoutMs: number; timeoutSetting: string; attempt: number; isAnswered: boolean; partialText?: string },
): HeddleError {
  const { timeoutMs, timeoutSetting, attempt, isAnswered, partialText } = options;
  if (isAnswered) return overdueWork(timeoutMs, `the response to ${requestLine}`, timeoutSetting);
  const inAttempt = attempt === 1 ? '' : `, in attempt ${attempt}`;
  return new HeddleError({
    code: 'timeout',
    message: `${requestLine} got no complete response within ${timeoutMs} ms${inAttempt}.`,
    hint: repeatable
      ? `Try again, request less at once, or raise ${timeoutSetting}.`
      : `${mayHaveRunHint} To allow more time, raise ${timeoutSetting}.`,
    retryable: true,
    partialText,
  });
}

/** Returns the error when the processing of a response has not finished at the deadline. */
export function overdueWork(
  timeoutMs: number,
  work = 'what the service has sent',
  timeoutSetting = 'HEDDLE_TIMEOUT_MS',
): HeddleError {
  return new HeddleError({
    code: 'timeout',
    message: `Processing ${work} did not finish within ${timeoutMs} ms.`,
    hint: `Request less at once, or raise ${timeoutSetting}.`,
    retryable: true,
  });
}

function readErrorBody(body: string): { text?: string; detail?: ErrorDetail[] } {
  let value: unknown;
  try {
    value = parseJsonText(body);
  } catch {
    // The HTML of a proxy tells an agent nothing; a line of plain text may.
    return body.trim() === '' || body.trimStart().startsWith('<') ? {} : { text: body.trim() };
  }
  const validation = validationErrorBody.safeParse(value);
  if (!validation.success) return { text: errorText(value) };
  const { detail } = validation.data;
  return { detail, text: detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ') };
}

/** Returns the text of an error body, from the first of the members that may hold it. */
function errorText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of ['message', 'error', 'detail', 'reason']) {
    const text = errorText(ownMember(value, name));
    if (text) return text;
  }
  return undefined;
}

/** Returns the text of an error that arrives inside a stream, quoted after a colon; nothing for an error without text. */
export function quotedErrorText(value: unknown, info: RequestInfo): string {
  const text = errorText(value);
  return text === undefined ? '' : `: ${quote(text, info)}`;
}

function quote(text: string, info: RequestInfo): string {
  return JSON.stringify(truncate(info.redact(text)));
}

function truncate(text: string): string {
  return text.length <= maxQuotationChars ? text : `${text.slice(0, maxQuotationChars)}…`;
}
