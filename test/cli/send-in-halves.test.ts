import { describe, expect, it } from 'vitest';
import { inRounds, sendInHalves } from '../../src/cli/commands/service/copy/project-copy.ts';
import { type ErrorCode, HeddleError } from '../../src/core/errors.ts';

function failure(code: ErrorCode, status: number): HeddleError {
  return new HeddleError({ code, status, message: 'no', hint: 'none' });
}

/** Sends numbers to a service that fails with an error whenever one of the `bad` ones is among them. */
async function send(count: number, bad: number[], error: HeddleError) {
  const taken: number[] = [];
  const refused: number[] = [];
  const done = sendInHalves(
    Array.from({ length: count }, (_, at) => at),
    async (part) => {
      if (part.some((entry) => bad.includes(entry))) throw error;
      taken.push(...part);
    },
    (entry) => refused.push(entry),
  );
  const thrown = await done.catch((reason: unknown) => reason);
  return { taken, refused, thrown };
}

describe('sendInHalves', () => {
  it('sends all but the entries that the service refuses, each once and in their order', async () => {
    const { taken, refused, thrown } = await send(9, [0, 5], failure('invalid_request', 400));
    expect([taken, refused, thrown]).toEqual([[1, 2, 3, 4, 6, 7, 8], [0, 5], undefined]);
  });

  it('takes status 500 for a refusal, unless it is the answer to ten entries', async () => {
    const crash = failure('service_unavailable', 500);
    expect(await send(20, [3], crash)).toMatchObject({ refused: [3], thrown: undefined });
    const all = Array.from({ length: 20 }, (_, at) => at);
    expect(await send(20, all, crash)).toEqual({ taken: [], refused: [0, 1, 2, 3, 4, 5, 6, 7, 8], thrown: crash });
  });

  it.each([
    ['forbidden', 403],
    ['unauthorized', 401],
    ['service_unavailable', 503],
  ] as const)('ends with the error %s', async (code, status) => {
    const error = failure(code, status);
    expect(await send(4, [3], error)).toEqual({ taken: [], refused: [], thrown: error });
  });
});

describe('inRounds', () => {
  it('puts entries with the same key into different rounds, in their order', () => {
    expect(inRounds(['a1', 'b1', 'a2', 'a3', 'c1', 'b2'], (entry) => entry[0]!)).toEqual([
      ['a1', 'b1', 'c1'],
      ['a2', 'b2'],
      ['a3'],
    ]);
  });
});
