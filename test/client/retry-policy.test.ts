import { describe, expect, it } from 'vitest';
import { retryDelayMs } from '../../src/client/retry-policy.ts';
import { retryAfterMs } from '../../src/core/http/retry-after.ts';

const deadline = 60_000;

describe('retryDelayMs', () => {
  // Delay in milliseconds before the next attempt for random = 0; undefined if there is none.
  it.each([
    ['repeatable, no response', { attempt: 1, repeatable: true }, 125],
    ['repeatable, second failure', { attempt: 2, repeatable: true }, 250],
    ['repeatable, third failure', { attempt: 3, repeatable: true }, undefined],
    ['repeatable, 408', { attempt: 1, repeatable: true, status: 408 }, 125],
    ['repeatable, 429', { attempt: 1, repeatable: true, status: 429 }, 125],
    ['repeatable, 500', { attempt: 1, repeatable: true, status: 500 }, 125],
    ['repeatable, 501', { attempt: 1, repeatable: true, status: 501 }, undefined],
    ['repeatable, 502', { attempt: 1, repeatable: true, status: 502 }, 125],
    ['repeatable, 503', { attempt: 1, repeatable: true, status: 503 }, 125],
    ['repeatable, 504', { attempt: 1, repeatable: true, status: 504 }, 125],
    ['repeatable, 400', { attempt: 1, repeatable: true, status: 400 }, undefined],
    ['repeatable, 404', { attempt: 1, repeatable: true, status: 404 }, undefined],
    ['repeatable, 429 with Retry-After 2 s', { attempt: 1, repeatable: true, status: 429, retryAfterMs: 2000 }, 2000],
    [
      'repeatable, 429 with Retry-After at the deadline',
      { attempt: 1, repeatable: true, status: 429, retryAfterMs: 60_000 },
      undefined,
    ],
    ['not repeatable, never connected', { attempt: 1, repeatable: false, notSent: true }, 125],
    ['not repeatable, no response', { attempt: 1, repeatable: false }, undefined],
    ['not repeatable, 429', { attempt: 1, repeatable: false, status: 429 }, 125],
    ['not repeatable, 500', { attempt: 1, repeatable: false, status: 500 }, undefined],
    ['not repeatable, 502', { attempt: 1, repeatable: false, status: 502 }, undefined],
    ['not repeatable, 503', { attempt: 1, repeatable: false, status: 503 }, undefined],
    [
      'not repeatable, 503 with Retry-After 1 s',
      { attempt: 1, repeatable: false, status: 503, retryAfterMs: 1000 },
      1000,
    ],
    ['not repeatable, 504', { attempt: 1, repeatable: false, status: 504 }, undefined],
  ])('returns the delay before the next attempt, if there is one: %s', (_, outcome, delayMs) => {
    expect(retryDelayMs({ remainingMs: deadline, ...outcome }, 0)).toBe(delayMs);
  });

  it('doubles the delay at most by jitter, and does not retry beyond the deadline', () => {
    expect(retryDelayMs({ attempt: 1, repeatable: true, remainingMs: deadline }, 0.999)).toBeCloseTo(250, 0);
    expect(retryDelayMs({ attempt: 1, repeatable: true, remainingMs: 100 }, 0)).toBeUndefined();
  });
});

const now = Date.parse('Wed, 21 Oct 2015 07:28:00 GMT');

describe('retryAfterMs', () => {
  it.each([
    ['0', 0],
    ['2', 2_000],
    [' 1.5 ', 1_500],
    ['Wed, 21 Oct 2015 07:28:05 GMT', 5_000],
    ['Wednesday, 21-Oct-15 07:28:05 GMT', 5_000],
    ['Wed Oct 21 07:28:05 2015 GMT', 5_000],
    ['Wed, 21 Oct 2015 07:27:00 GMT', 0],
    [['3', '9'], 3_000],
    ['', undefined],
    ['soon', undefined],
    ['-1', undefined],
    ['2015', 2_015_000],
    ['1e9', undefined],
    ['Someday, perhaps', undefined],
    [undefined, undefined],
  ])('reads %j', (header, milliseconds) => {
    expect(retryAfterMs(header, now)).toBe(milliseconds);
  });
});
