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
  /** The next step for an agent or a person. Never contains text of the service. */
  hint: string;
  /** HTTP status of the service's response. */
  status?: number;
  detail?: ErrorDetail[];
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

/** An error that heddle reports to an agent or a person. */
export class HeddleError extends Error {
  override readonly name = 'HeddleError';
  readonly code: ErrorCode;
  readonly hint: string;
  readonly status: number | undefined;
  readonly detail: ErrorDetail[] | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly partialText: string | undefined;
  readonly endpoint: string | undefined;

  constructor(fields: ErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.hint = fields.hint;
    this.status = fields.status;
    this.detail = fields.detail;
    this.retryable = fields.retryable ?? false;
    this.retryAfterMs = fields.retryAfterMs;
    this.partialText = fields.partialText;
    this.endpoint = fields.endpoint;
  }

  /** Returns the machine-readable form that docs/errors.md describes. */
  toJSON(): Record<string, unknown> {
    return {
      code: this.code,
      message: this.message,
      hint: this.hint,
      ...(this.status !== undefined && { status: this.status }),
      ...(this.detail !== undefined && { detail: this.detail }),
      retryable: this.retryable,
      ...(this.retryAfterMs !== undefined && { retry_after_ms: this.retryAfterMs }),
      ...(this.partialText !== undefined && { partial_text: this.partialText }),
    };
  }
}

/** Creates the error for settings that cannot be used. */
export function notConfigured(message: string, hint: string): HeddleError {
  return new HeddleError({ code: 'not_configured', message, hint });
}
