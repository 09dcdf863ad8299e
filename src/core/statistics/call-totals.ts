import { plainNumber } from '../json/exact-number.ts';
import { objectOrEmpty } from '../json/json-object.ts';
import { ownMember } from '../json/member-at.ts';
import { rounded } from './rounded.ts';
import { meanOf, sumOf } from './score-lists.ts';

/** The members of a recorded call that totals need. */
interface TotalledCall {
  id: string;
  parent_id?: string | null | undefined;
  exception?: string | null | undefined;
  summary?: unknown;
}

/** The columns of recorded calls that have these members. */
export const totalledColumns = ['op_name', 'parent_id', 'started_at', 'ended_at', 'exception', 'summary'];

/** The totals of the calls of one operation, as a type that fits objects with any members. */
export type OperationTotals = {
  operation: string;
  calls: number;
  errors?: number;
  tokens?: number;
  cost?: number;
  latency_seconds?: number;
  p95_latency_seconds?: number;
};

/** What one call used, and the calls below it. */
interface Usage {
  operation: string;
  parent: string | undefined;
  tokens: number | undefined;
  cost: number | undefined;
}

/** Models without a price that are named. */
const maxUnpriced = 20;

/**
 * Adds up recorded calls by operation. SDKs record the tokens of a call with those of the calls that it made, so these are
 * subtracted from it where both are added: each token counts once.
 */
export class CallTotals {
  readonly #usages = new Map<string, Usage>();
  readonly #calls = new Map<string, { calls: number; errors: number; latencies: number[] }>();
  readonly #unpriced = new Set<string>();

  /** Number of calls that were added. */
  get size(): number {
    return this.#usages.size;
  }

  /** Adds a call. Its `summary` has `usage` by model and, as far as services tell, `weave.latency_ms` and `weave.costs`. */
  add(operation: string, { id, parent_id, exception, summary }: TotalledCall): void {
    if (this.#usages.has(id)) return;
    const { latency_ms } = objectOrEmpty(objectOrEmpty(summary).weave);
    const used = usageIn(summary);
    for (const model of unpricedOf(used)) if (this.#unpriced.size < maxUnpriced) this.#unpriced.add(model);
    const parent = parent_id || undefined;
    const [tokens, cost] = [sumOf(used.map((one) => one.tokens)), sumOf(used.flatMap((one) => one.cost ?? []))];
    this.#usages.set(id, { operation, parent, tokens, cost });
    const known = this.#calls.get(operation) ?? { calls: 0, errors: 0, latencies: [] };
    this.#calls.set(operation, known);
    known.calls += 1;
    if (exception) known.errors += 1;
    const latency = plainNumber(latency_ms);
    if (typeof latency === 'number') known.latencies.push(latency);
  }

  /** Returns the number of the calls, the totals of each operation, and the models without a price, up to a limit. */
  report() {
    return { count: this.size, operations: this.byOperation(), unpriced_models: [...this.#unpriced].sort() };
  }

  /** Returns the totals of each operation, those with the most calls first. */
  byOperation(): OperationTotals[] {
    const tokens = this.#ownSums('tokens');
    const costs = this.#ownSums('cost');
    const totals = [...this.#calls].map(([operation, { calls, errors, latencies }]): OperationTotals => {
      const [used, cost, mean] = [tokens.get(operation), costs.get(operation), meanOf(latencies)];
      return {
        operation,
        calls,
        ...(errors > 0 && { errors }),
        ...(used !== undefined && { tokens: used }),
        ...(cost !== undefined && { cost: Number(cost.toPrecision(6)) }),
        ...(mean !== undefined && {
          latency_seconds: rounded(mean / 1000, 3),
          p95_latency_seconds: rounded(percentile95(latencies) / 1000, 3),
        }),
      };
    });
    return totals.sort((a, b) => b.calls - a.calls || (a.operation < b.operation ? -1 : 1));
  }

  /** Adds up what the calls of each operation used themselves. */
  #ownSums(member: 'tokens' | 'cost'): Map<string, number> {
    const ofChildren = new Map<string, number>();
    for (const usage of this.#usages.values()) {
      if (usage.parent === undefined || usage[member] === undefined) continue;
      ofChildren.set(usage.parent, (ofChildren.get(usage.parent) ?? 0) + usage[member]);
    }
    const sums = new Map<string, number>();
    for (const [id, usage] of this.#usages) {
      if (usage[member] === undefined) continue;
      const own = usage[member] - (ofChildren.get(id) ?? 0);
      // The rest may be a rounding error, or negative if a call was recorded without the usage of the calls below it.
      if (ofChildren.has(id) && own <= usage[member] * 1e-9) continue;
      sums.set(usage.operation, (sums.get(usage.operation) ?? 0) + own);
    }
    return sums;
  }
}

/** Returns the models in the summary of a recorded call that have no price, if it was read with its costs. */
export function unpricedIn(summary: unknown): string[] {
  return unpricedOf(usageIn(summary));
}

/** The tokens of one model in a call, and their cost in USD if it is known. */
interface ModelUsage {
  model: string;
  tokens: number;
  cost: number | undefined;
}

function unpricedOf(usage: readonly ModelUsage[]): string[] {
  return usage.flatMap(({ model, tokens, cost }) => (cost === undefined && tokens > 0 ? [model] : []));
}

function usageIn(summary: unknown): ModelUsage[] {
  const { usage, weave } = objectOrEmpty(summary);
  const { costs } = objectOrEmpty(weave);
  return Object.entries(objectOrEmpty(usage)).flatMap(([model, used]) => {
    const tokens = tokensIn(used);
    return tokens === undefined ? [] : [{ model, tokens, cost: costIn(ownMember(costs, model)) }];
  });
}

/** Returns the tokens that a model was used for; undefined if they are not recorded. */
function tokensIn(usage: unknown): number | undefined {
  const total = firstNumber(usage, 'total_tokens');
  if (total !== undefined) return total;
  const prompt = firstNumber(usage, 'prompt_tokens', 'input_tokens');
  const completion = firstNumber(usage, 'completion_tokens', 'output_tokens');
  return sumOf([prompt ?? [], completion ?? []].flat());
}

/** Returns the first number among members of an object; undefined if none of them is one. */
export function firstNumber(object: unknown, ...names: string[]): number | undefined {
  return names.map((name) => plainNumber(ownMember(object, name))).find((value) => typeof value === 'number');
}

/** Returns what the use of a model cost; undefined if no price is known. */
function costIn(costs: unknown): number | undefined {
  const names = ['prompt_tokens_total_cost', 'completion_tokens_total_cost'];
  return sumOf(names.flatMap((name) => firstNumber(costs, name) ?? []));
}

/** Returns the least value that at least 95 % of the values do not exceed. */
function percentile95(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1]!;
}
