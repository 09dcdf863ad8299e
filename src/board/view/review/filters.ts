import type { ItemsFilter } from '../../../queues/matching-items.ts';

/** The choices among which a person switches. `given` stands for states that the model asked for. */
export type FilterKind = 'open' | 'unjudged' | 'all' | 'given';

const openStates: NonNullable<ItemsFilter['annotation_states']> = ['unstarted', 'in_progress'];

/** Returns the kind of a filter; further conditions, like an operation, do not count. */
export function kindOf({ annotation_states, unjudged_by_me }: ItemsFilter): FilterKind {
  if (unjudged_by_me) return 'unjudged';
  if (annotation_states === undefined || annotation_states.length === 0) return 'all';
  return [...annotation_states].sort().join() === [...openStates].sort().join() ? 'open' : 'given';
}

/** Returns the filter of a kind, with the further conditions of the current one. `given` is what the model asked for. */
export function filterOf(kind: FilterKind, current: ItemsFilter, given: ItemsFilter): ItemsFilter {
  if (kind === 'given') return given;
  const { annotation_states: _states, unjudged_by_me: _mine, ...conditions } = current;
  if (kind === 'open') return { ...conditions, annotation_states: openStates };
  return kind === 'unjudged' ? { ...conditions, unjudged_by_me: true } : conditions;
}
