import { expect, it } from 'vitest';
import { HeddleError } from '../../src/core/errors.ts';
import { readCalls } from '../../src/records/read-calls.ts';
import type { ToolContext } from '../../src/tools/definition/tool.ts';

/** Reads a call at a service that fails with an error. */
function readAtFailure(error: Error, signal = new AbortController().signal): ReturnType<typeof readCalls> {
  const call = () => Promise.reject(error);
  const service = { call, signal, facts: { unsupportedOperations: new Set() } } as unknown as ToolContext['service'];
  return readCalls([{ call_id: 'c', display_fields: [] }], 'team/project', service);
}

const unavailable = new HeddleError({ code: 'service_unavailable', message: 'It is down.', hint: 'Wait.' });

it('readCalls returns the failure of the service for each call', async () => {
  expect(await readAtFailure(unavailable)).toEqual(new Map([['c', unavailable]]));
});

it('readCalls passes on the error of a call that was cancelled, and errors of this program', async () => {
  await expect(readAtFailure(unavailable, AbortSignal.abort())).rejects.toBe(unavailable);
  await expect(readAtFailure(new TypeError('a mistake'))).rejects.toThrow('a mistake');
});
