import { ToolFailure } from './host.ts';
import { plainText } from './visible-text.ts';

/** A problem in words for a person; `detail` is the message that a model would read. */
export interface Problem {
  sentence: string;
  detail?: string;
}

/** Sentences by error code. */
const sentences: Record<string, string> = {
  not_found: 'This no longer exists on the service.',
  validation_failed: 'The service did not accept the value.',
  forbidden: 'Your account may not do this.',
  unauthorized: 'The service did not accept the account of heddle.',
  credentials_missing: 'heddle has no account for the service. Run: heddle login',
  rate_limited: 'The service is busy. Try again in a minute.',
  service_unavailable: 'The service is not available. Try again later.',
  timeout: 'The service took too long. Try again.',
  network: 'The service cannot be reached. Try again later.',
  unsupported: 'The service cannot do this.',
  too_large: 'This is too large to show.',
  cancelled: 'The call was cancelled.',
  host: 'The chat did not allow this.',
};

/**
 * Describes an error for a person.
 * @param more sentences that a View has for some codes.
 */
export function describeError(code: string | undefined, message = '', more: Record<string, string> = {}): Problem {
  const sentence = new Map(Object.entries({ ...sentences, ...more })).get(code ?? '') ?? 'Something went wrong.';
  return message === '' ? { sentence } : { sentence, detail: plainText(message) };
}

/** Describes the failure of a tool call for a person. */
export function describeFailure(error: unknown): Problem {
  if (!(error instanceof ToolFailure)) return describeError(undefined, String(error));
  const { code, message, sentence } = error;
  return sentence === undefined ? describeError(code, message) : { sentence };
}
