/** Maximum number of times that one request is sent. */
export const maxAttempts = 3;

const transientStatuses = new Set([408, 429, 500, 502, 503, 504]);

/** The facts about a failed attempt that decide on a retry. */
export interface AttemptOutcome {
  /** 1 for the first attempt. */
  attempt: number;
  /** True if the service may run the operation twice without harm. */
  repeatable: boolean;
  /** Status of the response; undefined without one. */
  status?: number;
  /** True if no connection was established, so that the service cannot have seen the request. */
  notSent?: boolean;
  /** Milliseconds that the service asked to wait. */
  retryAfterMs?: number;
  /** Milliseconds until the deadline of the request. */
  remainingMs: number;
}

/**
 * Returns the milliseconds to wait before the next attempt; undefined if there is none. An operation that must not run
 * twice is sent again only if the service cannot have run it. `random`, from [0, 1), spreads clients that failed together.
 */
export function retryDelayMs(outcome: AttemptOutcome, random: number): number | undefined {
  const { attempt, repeatable, status, notSent = false, retryAfterMs, remainingMs } = outcome;
  if (attempt >= maxAttempts) return undefined;
  const cannotHaveRun = notSent || status === 429 || (status === 503 && retryAfterMs !== undefined);
  const transient = status === undefined || transientStatuses.has(status);
  if (!(repeatable ? transient : cannotHaveRun)) return undefined;
  const backoffMs = 250 * 2 ** (attempt - 1) * (0.5 + random / 2);
  const delayMs = Math.max(backoffMs, retryAfterMs ?? 0);
  return delayMs < remainingMs ? delayMs : undefined;
}
