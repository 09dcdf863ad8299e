/** Every way a call can fail, as an agent sees it. Adding one here makes the exhaustive tables fail to compile. */
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

/** One faulty place of an input. The public service also sends integers in `loc`, for array positions. */
export type ErrorDetail = { loc: (string | number)[]; msg: string; type: string };

/** Everything a {@link HeddleError} says. `retryable` is whether the same call, unchanged, may succeed later. */
export interface ErrorFields {
  code: ErrorCode;
  /** What happened and whose fault it is, one sentence, no secret in it. */
  message: string;
  /** The next step, for whoever reads the error: an agent or a person. Never holds text of the service. */
  hint: string;
  /** HTTP status of the service's answer, where there was one. */
  status?: number;
  detail?: ErrorDetail[];
  retryable?: boolean;
  /** Milliseconds to wait before the same call may succeed, where the service said so. */
  retryAfterMs?: number;
  /** Text of a streamed reply that had arrived before the failure. */
  partialText?: string;
  /** Name of the endpoint that the service lacks, with the code `unsupported`. */
  endpoint?: string;
  cause?: unknown;
}

/** The one error type of heddle: thrown by the client, the tools and the configuration, rendered in one place. */
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

  /** The machine-readable form: the members of design §5, absent ones left out. */
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
