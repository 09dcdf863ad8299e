import type { QueuePage } from '../../../tools/list-queues.ts';
import { queuePageSize } from '../../page-sizes.ts';
import { Board } from '../review/review-board.ts';
import type { Arguments } from '../shared/host.ts';
import { showInAddress } from './hosted-connection.ts';

/** The review board outside of a chat, where the person can choose among the queues. */
export class BrowserBoard extends Board {
  /** Opens the board of a queue, or lets the person choose one. */
  override open(given: Arguments): void {
    const chosen = new URLSearchParams(location.search).get('queue');
    // After a reload, what the person chose counts more than what the command names.
    const args = this.arguments || chosen === null ? given : chosen ? { queue_id: chosen } : {};
    if (args.queue_id !== undefined) {
      super.open(args);
      return;
    }
    this.arguments = args;
    void this.load(() => this.#chooseQueue());
  }

  /** Leaves the queue, whose drafts are kept, and lets the person choose another one. */
  override leave(): void {
    this.forgetQueue();
    showInAddress('queue', '');
    void this.load(() => this.#chooseQueue(true));
  }

  async #chooseQueue(isAsked = false): Promise<void> {
    const { queues } = await this.call<QueuePage>('list_queues', { limit: queuePageSize });
    const [only, second] = queues;
    if (only && !second && !isAsked) return this.open({ queue_id: only.id });
    const message = queues.length === 0 ? 'There are no queues.' : 'Choose a queue.';
    this.setMembers({ queues, message });
  }
}
