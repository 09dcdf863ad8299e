import type { ReviewFilter } from '../../../tools/review-queue.ts';

/** The choices among which a person switches: what they have not finished, everything, what annotators differ about, or what is completed without a value. `given` stands for states that the model asked for. */
export type FilterKind = 'todo' | 'all' | 'disputes' | 'lacking' | 'given';

/** The filter of a board that was opened without one. */
export const toDo: ReviewFilter = { unfinished_by_me: true };

/** Returns the kind of a filter; further conditions, like an operation, do not count. */
export function kindOf(filter: ReviewFilter): FilterKind {
  const { annotation_states = [], unfinished_by_me, unjudged_by_me, disagreement, lacks_value } = filter;
  if (disagreement) return 'disputes';
  if (lacks_value) return 'lacking';
  if (annotation_states.length > 0 || unjudged_by_me) return 'given';
  return unfinished_by_me ? 'todo' : 'all';
}

/** Returns the filter of a kind, with the further conditions of the current one. `given` is what the model asked for. */
export function filterOf(kind: FilterKind, current: ReviewFilter, given: ReviewFilter): ReviewFilter {
  if (kind === 'given') return given;
  const {
    annotation_states: _states,
    unfinished_by_me: _unfinished,
    unjudged_by_me: _unjudged,
    disagreement: _disagreement,
    lacks_value: _lacks,
    ...conditions
  } = current;
  if (kind === 'disputes') return { ...conditions, disagreement: true };
  if (kind === 'lacking') return { ...conditions, lacks_value: true };
  return kind === 'todo' ? { ...conditions, ...toDo } : conditions;
}
