import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Path of real review items, which lie beside some checkouts. */
export const reviewItems = fileURLToPath(new URL('../../../shared/data/queue-items.jsonl', import.meta.url));

/** True where the real review items are present. They are data, not a program, so CI does not need them. */
export const hasReviewItems = existsSync(reviewItems);
if (!hasReviewItems) console.warn('SKIPPED: the tests with real review items, since ../shared/data is missing');
