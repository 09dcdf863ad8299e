import { describe, expect, it } from 'vitest';
import { type ConnectedClient, connectToProcess } from '../../support/client.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';

const versionsPerServer = 250;
const callsAtOnce = 10;

/** Stores a version of one evaluation; returns its index, and whether it existed. */
async function createVersion({ call }: ConnectedClient, description: string) {
  const dataset = 'weave:///demo/support/object/tickets:latest';
  const created = await call('create_evaluation', { name: 'Weekly check', dataset, description });
  // A refusal would show its message here.
  expect(created).toHaveProperty('version_index');
  return { index: created.version_index as number, existed: created.existed as boolean };
}

/** Repeats an operation, several at once, until `next` returns undefined. */
async function severalAtOnce<T>(next: () => T | undefined, operation: (value: T) => Promise<void>): Promise<void> {
  const work = async (): Promise<void> => {
    for (let value = next(); value !== undefined; value = next()) await operation(value);
  };
  await Promise.all(Array.from({ length: callsAtOnce }, work));
}

describe('four servers on one data folder', () => {
  it('number 1000 versions without gaps, and have every reported version after one of them is killed', async () => {
    const environment = emptyHome(temporaryFolder());
    const servers = await Promise.all([1, 2, 3, 4].map(() => connectToProcess(environment)));
    const indices: number[] = [];
    await Promise.all(
      servers.map((server, number) => {
        let left = versionsPerServer;
        return severalAtOnce(
          () => (left > 0 ? `${number}/${left--}` : undefined),
          async (description) => void indices.push((await createVersion(server, description)).index),
        );
      }),
    );
    expect(indices.sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, index) => index));

    const [killed, survivor] = servers as [(typeof servers)[0], (typeof servers)[0]];
    const reported = new Set<string>();
    let sent = 0;
    let isAlive = true;
    await severalAtOnce(
      () => (isAlive ? `killed/${sent++}` : undefined),
      async (description) => {
        try {
          await createVersion(killed, description);
          reported.add(description);
          if (reported.size === 20) process.kill(killed.pid, 'SIGKILL');
        } catch {
          isAlive = false;
        }
      },
    );
    expect(reported.size).toBeGreaterThanOrEqual(20);
    for (const description of reported)
      expect(await createVersion(survivor, description)).toMatchObject({ existed: true });
  }, 300_000);
});
