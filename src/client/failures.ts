import type { AuthScheme } from '../contract/endpoints.ts';
import { validationErrorBody } from '../contract/validation-errors.ts';
import { type ErrorCode, type ErrorDetail, HeddleError } from '../core/errors.ts';

/** Longest quotation of a service's own words in an error, in characters. */
const quotationLimit = 500;

/** What an error says about the call that met it. */
export interface RequestInfo {
  /** Operation, method and path, for the message. */
  operation: string;
  /** Name of the endpoint in the contract's table. */
  endpoint: string;
  auth: AuthScheme;
  /** Whether it may be carried out twice without harm. */
  repeatable: boolean;
  /** Takes secrets out of text of the service before it is quoted. */
  redact: (text: string) => string;
}

export interface ServiceResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

type Verdict = { code: ErrorCode; says: string; hint: string; retryable?: boolean };

const lacking: Verdict = {
  code: 'unsupported',
  says: 'does not have this operation',
  hint: 'Another deployment of the service may have it; this one does not.',
};

const schemeNames = { basic: 'Basic', bearer: 'Bearer' } as const;

/** Said where the service may have done its work although its answer is lost: the call must not be doubled blindly. */
const maybeDone = 'The service may have carried it out all the same: check before you send it again.';

function verdictOf(status: number, { auth, repeatable }: RequestInfo): Verdict {
  const scheme = schemeNames[auth];
  switch (status) {
    case 401:
      return {
        code: 'unauthorized',
        says: `rejected the credentials (${scheme})`,
        hint: 'Ask the user to run `heddle login` again, or to correct the credentials in the environment.',
      };
    case 402:
      return { code: 'quota_exceeded', says: 'says that a quota is used up', hint: 'Ask the user to check the plan.' };
    case 403:
      return {
        code: 'forbidden',
        says: `refused access (${scheme})`,
        hint: 'These credentials may not do this here. Check the project, or ask its owner for access.',
      };
    case 404:
      return {
        code: 'not_found',
        says: 'did not find it',
        hint: 'Check the identifiers, references and the project of the call.',
      };
    case 408:
      return {
        code: 'timeout',
        says: 'gave up waiting',
        hint: repeatable ? 'Try again later.' : maybeDone,
        retryable: true,
      };
    case 409:
      return { code: 'conflict', says: 'reports a conflict', hint: 'Read the current state, then decide again.' };
    case 413:
      return { code: 'too_large', says: 'finds the request too large', hint: 'Send less at once.' };
    case 422:
      return {
        code: 'validation_failed',
        says: 'found the request invalid',
        hint: 'Correct what detail names, then call again.',
      };
    case 429:
      return {
        code: 'rate_limited',
        says: 'limits the rate of calls',
        hint: 'Wait as long as retry_after_ms says, or a minute, and send fewer calls at once.',
        retryable: true,
      };
    default:
  }
  if (status >= 500) {
    return {
      code: 'service_unavailable',
      says: 'failed',
      hint:
        repeatable || status === 503
          ? 'The fault is at the service. Try again later; if it stays, tell the user.'
          : `The fault is at the service. ${maybeDone}`,
      retryable: status !== 501,
    };
  }
  if (status >= 300 && status < 400) {
    return {
      code: 'bad_response',
      says: 'answered with a redirect, which is not followed with credentials',
      hint: 'Ask the user to set the base URL to the address that the service really has.',
    };
  }
  return { code: 'invalid_request', says: 'refused the request', hint: 'Correct the call, then try again.' };
}

/**
 * Whether the service has no such route, as against no such object: the router's own answer has no text of the
 * service in it.
 */
function lacksRoute(status: number, body: string, text: string | undefined): boolean {
  return (
    status === 405 || status === 501 || (status === 404 && (text === undefined || body.includes('"detail":"NotFound"')))
  );
}

/** The error for an answer that is no success. Understands every body shape that services of this interface send. */
export function failureOf(answer: ServiceResponse, call: RequestInfo): HeddleError {
  const { text, detail } = readErrorBody(answer.body);
  // Some services answer a bearer route without a usable header by 403.
  const status = answer.status === 403 && text === 'Not authenticated' ? 401 : answer.status;
  const { code, says, hint, retryable } = lacksRoute(status, answer.body.replaceAll(' ', ''), text)
    ? lacking
    : verdictOf(status, call);
  const quotation = text === undefined ? '' : `: ${quote(text, call)}`;
  return new HeddleError({
    code,
    message: `The service ${says}, status ${answer.status}, on ${call.operation}${quotation}.`,
    hint,
    status: answer.status,
    detail: detail?.map((entry) => ({ ...entry, msg: cut(call.redact(entry.msg)) })),
    retryable,
    endpoint: code === 'unsupported' ? call.endpoint : undefined,
    retryAfterMs: retryAfterMs(answer.headers['retry-after'], nowAt(answer)),
  });
}

/** The error for a success whose body is not what the interface promises: HTML, truncated JSON, a wrong shape. */
export function badResponse(
  answer: ServiceResponse,
  call: RequestInfo,
  reason: string,
  detail?: ErrorDetail[],
): HeddleError {
  // Cut twice: a secret that the first cut falls into is beyond the second one.
  const start = call.redact(answer.body.trim().slice(0, 64 * 1024)).slice(0, 120);
  const shown = detail || start === '' ? '' : ` It starts with ${quote(start, call)}`;
  return new HeddleError({
    code: 'bad_response',
    message: `The service answered ${call.operation} with status ${answer.status}, but ${reason}.${shown}`,
    hint: 'Ask the user to check that the base URL is the API of the service, not a web page or a proxy.',
    status: answer.status,
    detail,
  });
}

/** The error for a request that got no complete answer: reset, refused, unresolved, untrusted certificate, no HTTP. */
export function networkFailure(error: unknown, call: RequestInfo, origin: string, notSent: boolean): HeddleError {
  const { code = '', message, name } = error as NodeJS.ErrnoException;
  const reason = cut(call.redact(message || code || String(error)));
  const named = `${reason}${code && !reason.includes(code) ? ` (${code})` : ''}`;
  if (name === 'HTTPParserError' || /^(Z_|ERR__ERROR_|ERR_BROTLI|UND_ERR_HEADERS_OVERFLOW)/.test(code)) {
    return new HeddleError({
      code: 'bad_response',
      message: `The answer of ${origin} to ${call.operation} cannot be read: ${named}.`,
      hint: 'Ask the user to check that the base URL is the API of the service, and what stands between.',
      cause: error,
    });
  }
  if (code === 'UND_ERR_DESTROYED') {
    return new HeddleError({
      code: 'cancelled',
      message: `${call.operation} was given up: heddle is being ended.`,
      hint: call.repeatable || notSent ? 'Call again once it runs.' : `${maybeDone} Call again once it runs.`,
      cause: error,
    });
  }
  const certificate = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME|INVALID_CA|INVALID_PURPOSE/.test(code);
  const noTls = /^(EPROTO|ERR_SSL)/.test(code);
  const again = 'Ask the user to check the network and the base URL with `heddle doctor`; then try again.';
  return new HeddleError({
    code: 'network',
    message: `No complete answer from ${origin} to ${call.operation}: ${named}.`,
    hint: certificate
      ? 'The certificate of the service does not verify. Ask the user to check the base URL, or to trust the issuer with NODE_EXTRA_CA_CERTS.'
      : noTls
        ? 'No TLS connection came about. Ask the user to check https and the port in the base URL.'
        : call.repeatable || notSent
          ? again
          : `${maybeDone} Ask the user to check the network with \`heddle doctor\`.`,
    retryable: !certificate && !noTls,
    cause: error,
  });
}

/** The service's own clock, where it tells it: a date in Retry-After is by that clock. */
function nowAt({ headers }: ServiceResponse): number {
  const date = Date.parse(String(headers.date));
  return Number.isNaN(date) ? Date.now() : date;
}

/**
 * Milliseconds that a Retry-After header asks to wait, from its seconds or its date; undefined where it says nothing
 * readable. `now` is the time in milliseconds since the epoch.
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  // Date.parse alone takes almost anything for a date, -1 too.
  const date = /^[A-Z][a-z]{2,8}[, ]/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function readErrorBody(body: string): { text?: string; detail?: ErrorDetail[] } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // HTML of a proxy is noise to an agent; a line of plain text may say something.
    return body.trim() === '' || body.trimStart().startsWith('<') ? {} : { text: body.trim() };
  }
  const validation = validationErrorBody.safeParse(value);
  if (validation.success) {
    const { detail } = validation.data;
    return { detail, text: detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ') };
  }
  return { text: errorText(value) };
}

/** The members that carry the text, in the order in which the official client reads them. */
function errorText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const members = value as Record<string, unknown>;
  for (const name of ['message', 'error', 'detail', 'reason']) {
    const text = errorText(members[name]);
    if (text !== undefined && text !== '') return text;
  }
  return undefined;
}

/** The text of an error object that arrives inside a stream, quoted. */
export function errorTextOf(value: unknown, call: RequestInfo): string {
  return quote(errorText(value) ?? 'without a reason', call);
}

function quote(text: string, call: RequestInfo): string {
  return JSON.stringify(cut(call.redact(text)));
}

function cut(text: string): string {
  return text.length <= quotationLimit ? text : `${text.slice(0, quotationLimit)}…`;
}
