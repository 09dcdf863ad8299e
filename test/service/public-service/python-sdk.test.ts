import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startTestService, withStore } from '../../support/embedded-service.ts';
import { Replay, readExchanges } from '../../support/recorded-exchanges.ts';

/** The exchanges that differ, with the reasons that docs/service.md gives. */
const different = new Map([
  [42, 'a summary that was not asked for'],
  [52, 'feedback of one millisecond, in the order of its creation'],
  [58, 'feedback of one millisecond, in the order of its creation'],
  [113, 'members of a queue for claims'],
  [114, 'members of a queue for claims'],
  [184, 'a reference to a row of a table'],
  [227, 'members of a queue for claims'],
]);

/**
 * What the Python SDK sent, and requests written by hand, in the order in which they were recorded at the public service's own code on 22
 * November 2026.
 */
const exchanges = readExchanges(fileURLToPath(new URL('recorded/python-sdk.jsonl', import.meta.url)));

const service = await startTestService();
const { password } = await withStore(service.data, (store) => store.addUser('alice', ['team/p9']));
const replay = new Replay(service.running.url, `Basic ${Buffer.from(`api:${password}`).toString('base64')}`);

describe('the recorded requests of the Python SDK', () => {
  it('are 267, of which one response was a failure of the public service and does not count', () => {
    expect(exchanges).toHaveLength(267);
    expect(exchanges.filter(({ unstable }) => unstable).map(({ n }) => n)).toEqual([247]);
  });

  // Later requests need what earlier ones stored, so they run in their order.
  it.each(exchanges.map((exchange) => [exchange.n, exchange.method, exchange.path, exchange.step, exchange] as const))(
    '%i: %s %s (%s) is answered as the public service did, or as listed',
    async (n, _method, _path, _step, exchange) => {
      const differences = await replay.differences(exchange);
      if (different.has(n)) expect(differences).not.toEqual([]);
      else expect(differences).toEqual([]);
    },
  );
});
