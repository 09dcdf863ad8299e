/** The codes of all errors; see docs/errors.md. */
export const errorCodes = [
  'invalid_arguments',
  'not_configured',
  'credentials_missing',
  'unauthorized',
  'forbidden',
  'not_found',
  'validation_failed',
  'invalid_request',
  'conflict',
  'unsupported',
  'too_large',
  'quota_exceeded',
  'rate_limited',
  'service_unavailable',
  'timeout',
  'network',
  'bad_response',
  'cancelled',
  'internal',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** One fault of an input. The public service also sends integers in `loc`, for array positions. */
export type ErrorDetail = { loc: (string | number)[]; msg: string; type: string };

/** The fields of a {@link HeddleError}. */
export interface ErrorFields {
  code: ErrorCode;
  /** One sentence that says what happened and whose fault it is. Contains no secret. */
  message: string;
  /** The next step for an agent or a user. Never contains text of the service. */
  hint: string;
  /** The next step for a person at a terminal, where it is another one. */
  terminalHint?: string;
  /** HTTP status of the service's response. */
  status?: number;
  detail?: ErrorDetail[];
  /** Number of entries at the beginning of `detail` that the message also states; all by default. */
  statedDetails?: number;
  /** True if the same call may succeed later. */
  retryable?: boolean;
  /** Milliseconds to wait before trying again, as the service asked. */
  retryAfterMs?: number;
  /** Text of a streamed reply that arrived before the failure. */
  partialText?: string;
  /** Name of the missing endpoint, with the code `unsupported`. */
  endpoint?: string;
  cause?: unknown;
}

/** An error that heddle reports to an agent or a user. */
export class HeddleError extends Error {
  override readonly name = 'HeddleError';
  declare readonly code: ErrorCode;
  declare readonly hint: string;
  declare readonly terminalHint: string | undefined;
  declare readonly status: number | undefined;
  declare readonly detail: ErrorDetail[] | undefined;
  declare readonly statedDetails: number | undefined;
  declare readonly retryable: boolean;
  declare readonly retryAfterMs: number | undefined;
  declare readonly partialText: string | undefined;
  declare readonly endpoint: string | undefined;

  constructor({ message, cause, retryable = false, ...fields }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    Object.assign(this, { retryable, ...fields });
  }

  /** Returns the machine-readable form that docs/errors.md describes. */
  toJSON(): Record<string, unknown> {
    const { code, message, hint, status, detail, retryable, retryAfterMs, partialText } = this;
    return { code, message, hint, status, detail, retryable, retry_after_ms: retryAfterMs, partial_text: partialText };
  }
}

/**
 * Creates the error for one argument of a call.
 * @param argument its name, or the path of the faulty member in it; an empty path for the call as a whole.
 * @param fault begins after `consequence`, such as "Nothing was stored", if there is one; `detail` repeats it.
 */
export function invalidArgument(
  argument: string | readonly string[],
  {
    consequence,
    fault,
    ...hints
  }: { consequence?: string; fault: string } & Pick<ErrorFields, 'hint' | 'terminalHint'>,
): HeddleError {
  return new HeddleError({
    code: 'invalid_arguments',
    message: consequence === undefined ? `${fault}.` : `${consequence}: ${fault}.`,
    ...hints,
    detail: [{ loc: ['arguments', ...[argument].flat()], msg: fault, type: 'value_error' }],
  });
}

/** Creates the error for settings that cannot be used. */
export function notConfigured(message: string, hint: string): HeddleError {
  return new HeddleError({ code: 'not_configured', message, hint });
}

/** Returns why a file cannot be read or written, in words where the system's error is a common one. */
export function fileFault(error: unknown, access: 'read' | 'write'): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const isMissing = code === 'ENOENT' || code === 'ENOTDIR';
  if (isMissing) return access === 'read' ? 'it does not exist' : 'its folder does not exist';
  if (code === 'EISDIR') return 'it is a folder';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return `this user may not ${access} it`;
  if (code === 'ENOSPC') return 'the disk is full';
  return message;
}

/** Returns what a function returns; undefined if it throws an error. */
export function undefinedOnError<Value>(run: () => Value): Value | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
