/**
 * Returns the milliseconds that a Retry-After header asks to wait, given in seconds or as a date; undefined if it is
 * unreadable. `now` is in milliseconds since the epoch.
 */
export function retryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  // Longer numbers exceed what any timer can wait.
  if (/^\d{1,12}(\.\d{1,12})?$/.test(text)) return Math.round(Number(text) * 1000);
  // Date.parse alone accepts almost anything, even "-1".
  const date = /^[A-Z][a-z]{2,8}[, ]/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
