import * as z from 'zod';

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

/** One faulty place of an input (interface part 7). The public service also sends integers in `loc`, for array positions. */
export const errorDetail = z.looseObject({
  loc: z.array(z.union([z.string(), z.number()])).describe('Where the faulty input is, outermost part first.'),
  msg: z.string().describe('What is wrong with it.'),
  type: z.string().describe('A short name of the kind of fault.'),
});

export type ErrorDetail = { loc: (string | number)[]; msg: string; type: string };

/** The validation error body of the interface (part 7). */
export const validationErrorBody = z.looseObject({ detail: z.array(errorDetail) });

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

/**
 * Turns zod's issues into the interface's error details (part 7), so that local and remote validation read alike.
 * `root` comes first in each `loc`, as the service does it with `body`, `path` and `query`.
 */
export function errorDetails(error: z.ZodError, root: string): ErrorDetail[] {
  return error.issues.flatMap((issue): ErrorDetail[] => {
    const loc = [root, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => ({ loc: [...loc, key], msg: 'Unknown member', type: 'extra_forbidden' }));
      case 'invalid_type':
        // zod tells absence only in the message: the input itself is not kept on the issue.
        return issue.message.endsWith('received undefined')
          ? [{ loc, msg: 'Required member is missing', type: 'missing' }]
          : [{ loc, msg: issue.message, type: `${issue.expected}_type` }];
      default:
        return [{ loc, msg: issue.message, type: faultTypes[issue.code] ?? 'value_error' }];
    }
  });
}

const faultTypes: Record<string, string> = {
  invalid_value: 'enum',
  invalid_format: 'string_pattern_mismatch',
  too_small: 'greater_than_equal',
  too_big: 'less_than_equal',
};
