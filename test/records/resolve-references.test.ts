import { describe, expect, it } from 'vitest';
import { HeddleError } from '../../src/core/errors.ts';
import { expandColumns, resolveReferences } from '../../src/records/resolve-references.ts';
import type { ToolContext } from '../../src/tools/definition/tool.ts';

const reference = 'weave:///team/project/object/rows:v1/attr/rows/id/a';

/** Resolves the reference of a call at a service that fails with an error. Returns what the call has afterwards. */
async function resolveAtFailure(error: Error, signal = new AbortController().signal): Promise<unknown> {
  const service = { call: () => Promise.reject(error), signal } as unknown as ToolContext['service'];
  const call = { id: 'c', inputs: { row: reference } } as never;
  await resolveReferences([call], ['inputs.row'], service);
  return call;
}

describe('resolveReferences', () => {
  const missing = new HeddleError({ code: 'unsupported', message: 'No.', hint: 'None.' });

  it('leaves references as they are when the service refuses to read them', async () => {
    expect(await resolveAtFailure(missing)).toEqual({ id: 'c', inputs: { row: reference } });
  });

  it('passes on the error of a call that was cancelled, and errors of this program', async () => {
    await expect(resolveAtFailure(missing, AbortSignal.abort())).rejects.toBe(missing);
    await expect(resolveAtFailure(new TypeError('a mistake'))).rejects.toThrow('a mistake');
  });
});

describe('expandColumns', () => {
  it('returns every part of a path below a member of the call, at most 1,000', () => {
    expect(expandColumns(['inputs.row.question', 'output[0].text', 'inputs.row'])).toEqual([
      'inputs.row',
      'inputs.row.question',
    ]);
    const paths = Array.from({ length: 1001 }, (_, n) => `output.k${n}`);
    expect(expandColumns(paths)).toEqual(paths.slice(0, 1000));
  });
});
