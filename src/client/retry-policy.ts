/** Most times that one call is sent. */
export const maxAttempts = 3;

const repeatableStatuses = new Set([408, 429, 500, 502, 503, 504]);

/** How an attempt ended, as far as the decision to send again needs it. */
export interface AttemptOutcome {
  /** 1 for the first attempt. */
  attempt: number;
  /** Whether the operation may be carried out twice without harm. */
  repeatable: boolean;
  /** Status of the answer; absent when there was none. */
  status?: number;
  /** No connection came about, so that the service cannot have seen the request. */
  notSent?: boolean;
  /** Milliseconds that the service asked to wait. */
  retryAfterMs?: number;
  /** Milliseconds until the deadline of the call. */
  remainingMs: number;
}

/**
 * Decides whether a call is sent again, and after how many milliseconds; undefined when it is not (design §6). An
 * operation that must not happen twice is sent again only where the service cannot have carried it out. `random` is
 * from [0, 1) and spreads clients that failed together.
 */
export function retryDelayMs(outcome: AttemptOutcome, random: number): number | undefined {
  const { attempt, repeatable, status, notSent = false, retryAfterMs, remainingMs } = outcome;
  if (attempt >= maxAttempts) return undefined;
  const refusedUnseen = notSent || status === 429 || (status === 503 && retryAfterMs !== undefined);
  const passing = status === undefined || repeatableStatuses.has(status);
  if (!(repeatable ? passing : refusedUnseen)) return undefined;
  const backoffMs = 250 * 2 ** (attempt - 1) * (0.5 + random / 2);
  const delayMs = Math.max(backoffMs, retryAfterMs ?? 0);
  return delayMs < remainingMs ? delayMs : undefined;
}
