/** Sentences for errors that concern an item. */
export const itemSentences: Record<string, string> = {
  conflict: 'Somebody else judged or moved this item after you opened it.',
  invalid_request: 'The service did not accept this: your state of the item may be final.',
  invalid_arguments: 'The value does not fit the field.',
};

/** Names of the states of an item. */
export const stateNames: Record<string, string> = {
  unstarted: 'not started',
  in_progress: 'in progress',
  completed: 'completed',
  skipped: 'skipped',
};
