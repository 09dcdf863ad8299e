import type { ServiceClient } from '../../client/service-client.ts';
import { tooBusy } from '../../core/http/body-reader.ts';

/** Accounts whose clients are kept; a client remembers what its account was shown. */
const maxClients = 200;
/** Calls of one account that run at once. */
const maxCalls = 16;

/** Keeps a client of the service for each account that uses the board. */
export class AccountClients {
  readonly #open: (account: string) => Promise<ServiceClient>;
  /** The account that was used last is the last. */
  readonly #clients = new Map<string, { client: Promise<ServiceClient>; calls: number }>();

  /** @param open creates the client of an account. */
  constructor(open: (account: string) => Promise<ServiceClient>) {
    this.#open = open;
  }

  /**
   * Does work with the client of an account.
   * @throws Refusal 503 if too many calls of the account are running.
   */
  async use<Result>(account: string, work: (client: Promise<ServiceClient>) => Promise<Result>): Promise<Result> {
    const entry = this.#clients.get(account) ?? { client: this.#open(account), calls: 0 };
    if (entry.calls >= maxCalls) throw tooBusy();
    this.#clients.delete(account);
    this.#clients.set(account, entry);
    entry.calls += 1;
    try {
      return await work(entry.client);
    } finally {
      entry.calls -= 1;
      this.#closeOldest();
    }
  }

  /** Closes every client. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map(async ({ client }) => (await client).close()));
  }

  #closeOldest(): void {
    if (this.#clients.size <= maxClients) return;
    const idle = [...this.#clients].find(([, { calls }]) => calls === 0);
    if (!idle) return;
    const [account, { client }] = idle;
    this.#clients.delete(account);
    void client.then((opened) => opened.close());
  }
}
