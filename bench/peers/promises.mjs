// What heddle does with every page beside passing it on, because it promises to: the check of the answer's shape, and
// the look for secrets. A server that does without is faster, and is not heddle.
import { queryQueueItemsResponse } from '../../src/contract/queue-items.ts';
import { protect, redactValue } from '../../src/core/redaction.ts';

/** Makes the secrets of the bench known, as a start with them does. */
export function know(...secrets) {
  protect(...secrets);
}

/** Keeps both promises for one page, `json` being its result as JSON in UTF-8; throws where one is broken. */
export function keepPromises(page, json) {
  if (!queryQueueItemsResponse.safeParse(page).success)
    throw new Error('the page has another shape than the interface');
  if (redactValue(page, json) !== page) throw new Error('the page holds a secret');
}
