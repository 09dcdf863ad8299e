import type { ScorerStatistics } from '../../contract/evaluation-runs.ts';
import type { Members } from '../../core/json/json-object.ts';
import { meanOf, type ScoreLists, type ScoreValue } from '../../core/statistics/score-lists.ts';

/**
 * Returns the statistics of scores in the form of the results of evaluations.
 * @param errors the number of trials in which each scorer failed.
 */
export function statisticsOf(lists: ScoreLists, errors: ReadonlyMap<string, number>): ScorerStatistics[] {
  const scored = lists.toArray();
  const failed = [...errors.keys()].filter((name) => !scored.some(({ scorer }) => scorer === name));
  const failedLists = failed.map((scorer) => ({ scorer, path: [], values: [] }));
  return [...scored, ...failedLists].map(({ scorer, path, values }) => {
    const { numbers, passes } = countValues(values);
    const type = passes.length > 0 ? 'binary' : numbers.length > 0 ? 'continuous' : 'text';
    return {
      scorer_key: scorer,
      path: path.length === 0 ? null : path.join('.'),
      value_type: values.length === 0 ? null : type,
      trial_count: values.length,
      numeric_count: numbers.length,
      numeric_mean: meanOf(numbers) ?? null,
      pass_true_count: passes.filter(Boolean).length,
      pass_known_count: passes.length,
      pass_rate: meanOf(passes.map(Number)) ?? null,
      pass_signal_coverage: values.length === 0 ? null : passes.length / values.length,
      error_count: errors.get(scorer) ?? 0,
    };
  });
}

/** Returns the summary that SDKs compute at the end of a run: by scorer, a mean or the fraction that is true. */
export function summaryOf(lists: ScoreLists): Members {
  const summary = Object.create(null) as Members;
  for (const { scorer, path, values } of lists.toArray()) {
    const { numbers, passes } = countValues(values);
    if (numbers.length + passes.length === 0) continue;
    let members = summary;
    const names = [scorer, ...path];
    for (const name of names.slice(0, -1)) {
      members[name] ??= Object.create(null);
      members = members[name] as Members;
    }
    members[names.at(-1)!] =
      passes.length > 0
        ? { true_count: passes.filter(Boolean).length, true_fraction: meanOf(passes.map(Number)) }
        : { mean: meanOf(numbers) };
  }
  return summary;
}

function countValues(values: readonly ScoreValue[]): { numbers: number[]; passes: boolean[] } {
  return {
    numbers: values.filter((value) => typeof value === 'number'),
    passes: values.filter((value) => typeof value === 'boolean'),
  };
}
