import { describe, expect, it } from 'vitest';
import { HeddleError } from '../../src/core/errors.ts';
import { readRunResults } from '../../src/evaluations/read-run-results.ts';

/** Reads the results of a run at a service that sends at most a number of rows. Returns how many each request asked for. */
async function limitsAskedFor(maxRows: number, failure: HeddleError): Promise<number[]> {
  const limits: number[] = [];
  const service = {
    call: async (_name: string, { body: { limit } }: { body: { limit: number } }) => {
      limits.push(limit);
      if (limit > maxRows) throw failure;
      return { rows: [], total_rows: 0 };
    },
  };
  const access = { service, progress: () => {} } as never;
  await readRunResults(['run'], 'team/project', access).catch((error) => expect(error).toBe(failure));
  return limits;
}

describe('readRunResults', () => {
  it('asks for fewer rows at a time while a response would be too large, at least 10', async () => {
    const tooLarge = new HeddleError({ code: 'too_large', message: 'Too large.', hint: 'Less.' });
    expect(await limitsAskedFor(15, tooLarge)).toEqual([1000, 250, 62, 15]);
    expect(await limitsAskedFor(9, tooLarge)).toEqual([1000, 250, 62, 15, 10]);
  });

  it('does not ask again after another failure', async () => {
    const refused = new HeddleError({ code: 'forbidden', message: 'No.', hint: 'None.' });
    expect(await limitsAskedFor(9, refused)).toEqual([1000]);
  });
});
