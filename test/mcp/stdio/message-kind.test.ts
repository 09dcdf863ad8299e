import { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMessage, isRequest } from '../../../src/mcp/message-kind.ts';
import { caseCount } from '../../support/cases.ts';

const scalars = ['', '2.0', '1.0', 'ping', 0, -1, 1.5, 2 ** 53, 1e300, true, null] as const;
const meta = fc.record(
  {
    progressToken: fc.constantFrom(...scalars, [], {}),
    'io.modelcontextprotocol/related-task': fc.constantFrom(...scalars, {}, { taskId: 't' }, { taskId: 1 }, []),
    other: fc.constantFrom(...scalars),
  },
  { requiredKeys: [] },
);
const container = fc.oneof(
  fc.constantFrom(...scalars, [], {}, { _meta: 1 }, { _meta: [] }, { _meta: null }, { a: 1 }),
  fc.record({ _meta: meta }),
);
const fault = fc.record(
  {
    code: fc.constantFrom(...scalars, -32_600),
    message: fc.constantFrom(...scalars),
    data: fc.constantFrom(...scalars),
    other: fc.constant(1),
  },
  { requiredKeys: [] },
);
const members = {
  jsonrpc: fc.oneof(
    { weight: 9, arbitrary: fc.constant('2.0') },
    { weight: 1, arbitrary: fc.constantFrom(...scalars) },
  ),
  id: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(1, 'a') },
    { weight: 1, arbitrary: fc.constantFrom(...scalars) },
  ),
  method: fc.oneof(
    { weight: 3, arbitrary: fc.constant('ping') },
    { weight: 1, arbitrary: fc.constantFrom(...scalars, []) },
  ),
  params: container,
  result: container,
  error: fc.oneof(fault, container),
  ['__proto__']: fc.constant(1),
  other: fc.constantFrom(...scalars),
};

/** Values that are messages, or nearly. */
const nearMessages = fc
  .tuple(
    fc.constantFrom<(keyof typeof members)[]>(
      ['jsonrpc', 'id', 'method'],
      ['jsonrpc', 'id', 'method', 'params'],
      ['jsonrpc', 'method'],
      ['jsonrpc', 'method', 'params'],
      ['jsonrpc', 'id', 'result'],
      ['jsonrpc', 'id', 'error'],
      ['jsonrpc', 'error'],
    ),
    fc.record(members, { requiredKeys: [] }),
    fc.record(members),
    fc.integer({ min: 0, max: 9 }),
  )
  .map(([names, extra, all, luck]) => {
    const entries = Object.entries(all).filter(([name]) => (names as string[]).includes(name));
    // Of ten values, one has members that do not belong there.
    return JSON.parse(JSON.stringify(Object.fromEntries([...entries, ...(luck === 0 ? Object.entries(extra) : [])])));
  });

describe('a parsed value', () => {
  it('is a message exactly if the SDK takes it for one', () => {
    let accepted = 0;
    let refused = 0;
    const compare = (value: unknown): void => {
      const isOfSdk = isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value);
      expect([isMessage(value), isRequest(value)]).toEqual([isOfSdk, isJSONRPCRequest(value)]);
      if (isOfSdk) accepted += 1;
      else refused += 1;
    };
    fc.assert(fc.property(nearMessages, compare), { numRuns: caseCount(30_000) });
    fc.assert(fc.property(fc.jsonValue(), compare), { numRuns: caseCount(3_000) });
    expect(Math.min(accepted, refused)).toBeGreaterThan(300);
  });
});
