import type { ScorerStatistics } from '../../contract/evaluation-runs.ts';

type Members = Record<string, unknown>;

interface Leaf {
  scorer: string;
  path: string[];
  values: number;
  texts: number;
  numbers: number;
  sum: number;
  booleans: number;
  trues: number;
}

/** Scores have arbitrary members; those beyond this number of different paths are not counted. */
const maxLeaves = 1000;
const maxDepth = 20;

/** Collects the scores of trials, one set of counts for each member of the outputs of each scorer. */
export class ScoreStatistics {
  readonly #leaves = new Map<string, Leaf>();
  readonly #errors = new Map<string, number>();

  /** Adds the scores of a trial, by the names of the scorers. */
  add(scores: Members): void {
    for (const [scorer, value] of Object.entries(scores)) this.#addValue(scorer, [], value);
  }

  /** Counts a trial in which a scorer failed. */
  addError(scorer: string): void {
    this.#errors.set(scorer, (this.#errors.get(scorer) ?? 0) + 1);
  }

  #addValue(scorer: string, path: string[], value: unknown): void {
    if (value === null || value === undefined || Array.isArray(value)) return;
    if (typeof value === 'object') {
      if (path.length >= maxDepth) return;
      for (const [name, member] of Object.entries(value)) this.#addValue(scorer, [...path, name], member);
      return;
    }
    const leaf = this.#leafOf(scorer, path);
    if (!leaf) return;
    leaf.values += 1;
    if (typeof value === 'string') leaf.texts += 1;
    else if (typeof value === 'boolean') {
      leaf.booleans += 1;
      leaf.trues += Number(value);
    } else {
      leaf.numbers += 1;
      leaf.sum += Number(value);
    }
  }

  #leafOf(scorer: string, path: string[]): Leaf | undefined {
    const key = JSON.stringify([scorer, ...path]);
    const known = this.#leaves.get(key);
    if (known || this.#leaves.size >= maxLeaves) return known;
    const leaf = { scorer, path, values: 0, texts: 0, numbers: 0, sum: 0, booleans: 0, trues: 0 };
    this.#leaves.set(key, leaf);
    return leaf;
  }

  /** Returns the statistics in the form of the results of evaluations. */
  toList(): ScorerStatistics[] {
    const list = [...this.#leaves.values()].map((leaf) => ({
      scorer_key: leaf.scorer,
      path: leaf.path.length === 0 ? null : leaf.path.join('.'),
      value_type: leaf.booleans > 0 ? 'binary' : leaf.numbers > 0 ? 'continuous' : 'text',
      trial_count: leaf.values,
      numeric_count: leaf.numbers,
      numeric_mean: leaf.numbers > 0 ? leaf.sum / leaf.numbers : null,
      pass_true_count: leaf.trues,
      pass_known_count: leaf.booleans,
      pass_rate: leaf.booleans > 0 ? leaf.trues / leaf.booleans : null,
      pass_signal_coverage: leaf.booleans / leaf.values,
      error_count: this.#errors.get(leaf.scorer) ?? 0,
    }));
    const scored = new Set(list.map(({ scorer_key }) => scorer_key));
    const failed = [...this.#errors].filter(([scorer]) => !scored.has(scorer));
    return [...list, ...failed.map(([scorer, count]) => emptyStatistics(scorer, count))];
  }

  /** Returns the summary that SDKs compute at the end of a run: by scorer, a mean or the fraction that is true. */
  toSummary(): Members {
    const summary: Members = {};
    for (const leaf of this.#leaves.values()) {
      const value =
        leaf.booleans > 0
          ? { true_count: leaf.trues, true_fraction: leaf.trues / leaf.booleans }
          : leaf.numbers > 0
            ? { mean: leaf.sum / leaf.numbers }
            : undefined;
      if (value) setAt(summary, [leaf.scorer, ...leaf.path], value);
    }
    return summary;
  }
}

function emptyStatistics(scorer_key: string, error_count: number): ScorerStatistics {
  const counts = { trial_count: 0, numeric_count: 0, pass_true_count: 0, pass_known_count: 0 };
  const rates = { numeric_mean: null, pass_rate: null, pass_signal_coverage: null };
  return { scorer_key, path: null, value_type: null, ...counts, ...rates, error_count };
}

function setAt(target: Members, path: readonly string[], value: unknown): void {
  let members = target;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(members, name)) define(members, name, {});
    members = members[name] as Members;
  }
  define(members, path.at(-1)!, value);
}

/** Adds a member of any name, also `__proto__`. */
function define(members: Members, name: string, value: unknown): void {
  Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}
