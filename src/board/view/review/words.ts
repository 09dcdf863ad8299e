import { ToolFailure } from '../shared/host.ts';
import { plainText } from '../shared/visible-text.ts';

/** A problem in words for a person; `detail` is the message that a model would read. */
export interface Problem {
  sentence: string;
  detail?: string;
}

/** Sentences by error code. */
const sentences: Record<string, string> = {
  conflict: 'Somebody else judged or moved this item after you opened it.',
  not_found: 'This no longer exists on the service.',
  validation_failed: 'The service did not accept the value.',
  invalid_request: 'The service did not accept this: your state of the item may be final.',
  invalid_arguments: 'The value does not fit the field.',
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
  ended: 'heddle board has ended. Run it again in a terminal.',
  session: 'This page is no longer connected. Run heddle board again.',
  host: 'The chat did not let the board do this.',
};

/** Says an error in words for a person. */
export function problemOf(code: string | undefined, message = ''): Problem {
  const sentence = sentences[code ?? ''] ?? 'Something went wrong.';
  return message === '' ? { sentence } : { sentence, detail: plainText(message) };
}

/** Says a failure of a tool call in words for a person. */
export function problemOfFailure(error: unknown): Problem {
  if (error instanceof ToolFailure) return problemOf(error.code, error.message);
  return problemOf(undefined, String(error));
}

/** Returns a count with its noun, like `3 items`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Names of the states of an item. */
export const stateNames: Record<string, string> = {
  unstarted: 'not started',
  in_progress: 'in progress',
  completed: 'completed',
  skipped: 'skipped',
};
