import type { RunLimits } from '../../contract/evaluations.ts';
import { type Members, objectOrEmpty } from '../../core/json/json-object.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { firstNumber } from '../../core/statistics/call-totals.ts';
import { sumOf } from '../../core/statistics/score-lists.ts';
import type { RequestMeter } from '../inference/model-client.ts';
import type { TokenPrice } from '../storage/model-prices.ts';

/** What a run has taken, and the most that one of its requests did. */
export interface Spending {
  requests: number;
  tokens: number;
  usd: number;
  largestTokens: number;
  largestUsd: number;
}

/** Characters that one token stands for, roughly, where the model provider counts none. */
const charsPerToken = 4;

/** Says that a request was not sent, because the budget of the run may not cover it. */
export class BudgetReached extends Error {}

/**
 * Keeps a run within its budget. Requests are booked before they are sent, as the largest of those that have ended, and bookings
 * are stored with the run. So the requests that a killed process had in progress count as sent.
 */
export class RunBudget {
  readonly limits: RunLimits | undefined;
  readonly #prices: Readonly<Record<string, TokenPrice>> | undefined;
  readonly #spent: Spending;
  /** Requests that are booked and have not ended. */
  #booked = 0;

  /**
   * @param prices by model; undefined if a model has none, and the cost is unknown.
   * @param stored what {@link toStored} returned before.
   */
  constructor(
    limits: RunLimits | undefined,
    prices: Readonly<Record<string, TokenPrice>> | undefined,
    stored: Partial<Spending>,
  ) {
    this.limits = limits;
    this.#prices = prices;
    this.#spent = { requests: 0, tokens: 0, usd: 0, largestTokens: 0, largestUsd: 0, ...stored };
  }

  /** The requests that have ended, their tokens and their cost in USD; no cost if a model has no price. */
  get spent(): Pick<Spending, 'requests' | 'tokens'> & { usd?: number } {
    const { requests, tokens, usd } = this.#spent;
    return { requests, tokens, ...(this.#prices && { usd: Number(usd.toPrecision(12)) }) };
  }

  /** Returns what to store: what was spent, with the requests that are booked. */
  toStored(): Spending {
    const { requests, tokens, usd, largestTokens, largestUsd } = this.#spent;
    return {
      requests: requests + this.#booked,
      tokens: tokens + this.#booked * largestTokens,
      usd: usd + this.#booked * largestUsd,
      largestTokens,
      largestUsd,
    };
  }

  /** Books the requests of a trial; undefined if the budget may not cover them. */
  book(requests: number): Booking | undefined {
    if (!this.#isKnownWellEnough(requests) || !this.#covers(requests)) return undefined;
    this.#booked += requests;
    return new Booking(this, requests);
  }

  /** Books one more request. @throws BudgetReached */
  extend(): void {
    if (!this.#covers(1)) throw new BudgetReached('the budget is spent');
    this.#booked += 1;
  }

  /** Releases requests that were booked and are not needed. */
  release(requests: number): void {
    this.#booked -= requests;
  }

  /** Counts a request that was booked. @param reply undefined if it was aborted, null if it failed. */
  settle(
    model: string,
    sentChars: number,
    reply: { usage: Members | undefined; chars: number } | null | undefined,
  ): void {
    this.#booked -= 1;
    const spent = this.#spent;
    spent.requests += 1;
    if (reply === null) return;
    // An aborted request may have been answered all the same.
    const [tokens, usd] = reply ? this.#takenBy(model, sentChars, reply) : [spent.largestTokens, spent.largestUsd];
    spent.tokens += tokens;
    spent.usd += usd;
    spent.largestTokens = Math.max(spent.largestTokens, tokens);
    spent.largestUsd = Math.max(spent.largestUsd, usd);
  }

  #takenBy(model: string, sentChars: number, { usage, chars }: { usage: Members | undefined; chars: number }) {
    const { prompt, completion, total } = countTokens(usage);
    const ofPrompt = prompt ?? Math.ceil(sentChars / charsPerToken);
    const ofReply = completion ?? Math.ceil(chars / charsPerToken);
    const price = this.#prices && (ownMember(this.#prices, model) as TokenPrice | undefined);
    return [total ?? ofPrompt + ofReply, price ? ofPrompt * price.prompt + ofReply * price.completion : 0] as const;
  }

  /** Returns whether as many requests have ended as would be in progress, so that few take more than was expected. */
  #isKnownWellEnough(requests: number): boolean {
    const { tokens, usd } = this.limits ?? {};
    if (this.#booked === 0 || (tokens === undefined && usd === undefined)) return true;
    return this.#spent.largestTokens > 0 && this.#booked + requests <= this.#spent.requests;
  }

  #covers(requests: number): boolean {
    const { limits } = this;
    if (!limits) return true;
    const { requests: done, tokens, usd, largestTokens, largestUsd } = this.#spent;
    const open = this.#booked + requests;
    if (limits.requests !== undefined && done + open > limits.requests) return false;
    if (limits.tokens === undefined && limits.usd === undefined) return true;
    // A first request that failed may be repeated.
    if (largestTokens === 0 && this.#booked > 0) return done > 0;
    const isWithin = (taken: number, largest: number, limit = Number.POSITIVE_INFINITY): boolean =>
      taken < limit && taken + open * largest <= limit;
    return isWithin(tokens, largestTokens, limits.tokens) && isWithin(usd, largestUsd, limits.usd);
  }
}

/** Returns the tokens that a model provider has counted, as far as it did. */
function countTokens(usage: Members | undefined) {
  return {
    prompt: firstNumber(usage, 'prompt_tokens', 'input_tokens'),
    completion: firstNumber(usage, 'completion_tokens', 'output_tokens'),
    total: firstNumber(usage, 'total_tokens'),
  };
}

/** Returns what tokens cost in USD, from usage by model; undefined if there is none, or a model has no price. */
export function costOfUsage(
  usage: Readonly<Record<string, Members>>,
  prices: ReadonlyMap<string, TokenPrice>,
): number | undefined {
  const costs = Object.entries(usage).map(([model, counts]) => {
    const { prompt = 0, completion = 0 } = countTokens(counts);
    const price = prices.get(model);
    return price && prompt * price.prompt + completion * price.completion;
  });
  return costs.includes(undefined) ? undefined : sumOf(costs as number[]);
}

/** The requests that a trial may send. */
export class Booking implements RequestMeter {
  readonly #budget: RunBudget;
  #left: number;

  constructor(budget: RunBudget, requests: number) {
    this.#budget = budget;
    this.#left = requests;
  }

  /** Counts a request that is about to be sent. @throws BudgetReached for one that was not booked and may not be covered. */
  begin(): void {
    if (this.#left > 0) this.#left -= 1;
    else this.#budget.extend();
  }

  end(...[model, sentChars, reply]: Parameters<RequestMeter['end']>): void {
    this.#budget.settle(model, sentChars, reply);
  }

  /** Releases what was not sent. */
  release(): void {
    this.#budget.release(this.#left);
    this.#left = 0;
  }
}

/** Returns limits as text, like `40 requests and 0.5 USD`. */
export function limitsInWords(limits: RunLimits | RunBudget['spent']): string {
  const { requests, tokens, usd } = objectOrEmpty(limits) as Partial<Spending>;
  const parts = [
    ...(requests === undefined ? [] : [`${requests} request${requests === 1 ? '' : 's'}`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
    ...(usd === undefined ? [] : [`${Number(usd.toPrecision(6))} USD`]),
  ];
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
