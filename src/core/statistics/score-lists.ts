import { plainNumber } from '../json/exact-number.ts';
import { isJsonObject } from '../json/json-object.ts';

/** A score, or a member of one: passed or not, a number, or a label. */
export type ScoreValue = boolean | number | string;

/** The values that a scorer gave, or those of one member of its outputs. */
export interface ScoreList {
  scorer: string;
  /** The names that lead to the member; empty for the output itself. */
  path: readonly string[];
  values: ScoreValue[];
  /** The row of each value, if rows were given. */
  rows: number[];
}

/** Outputs have arbitrary members. Those beyond this number of different paths, and those that are deeper, are left out. */
const maxLists = 1000;
const maxDepth = 20;

/** Collects the outputs of scorers: a list of values for each scorer, or for each member of its outputs. */
export class ScoreLists {
  readonly #lists = new Map<string, ScoreList>();
  readonly #keepsTexts: boolean;

  /** @param options.keepsTexts false to keep an empty text instead of each, where their number is all that counts. */
  constructor({ keepsTexts = true }: { keepsTexts?: boolean } = {}) {
    this.#keepsTexts = keepsTexts;
  }

  /**
   * Adds the outputs of a trial, by scorer. Lists, null and numbers that are not finite are left out.
   * @param row the number of the row that the trial belongs to, where that is needed.
   */
  add(scores: object | null | undefined, row?: number): void {
    for (const [scorer, value] of Object.entries(scores ?? {})) this.#addValue(scorer, [], value, row);
  }

  #addValue(scorer: string, path: readonly string[], found: unknown, row: number | undefined): void {
    const value = plainNumber(found);
    if (typeof value === 'boolean' || typeof value === 'string' || Number.isFinite(value)) {
      const kept = typeof value === 'string' && !this.#keepsTexts ? '' : (value as ScoreValue);
      const list = this.#listOf(scorer, path);
      list?.values.push(kept);
      if (row !== undefined) list?.rows.push(row);
    } else if (isJsonObject(value) && path.length < maxDepth) {
      for (const [name, member] of Object.entries(value)) this.#addValue(scorer, [...path, name], member, row);
    }
  }

  #listOf(scorer: string, path: readonly string[]): ScoreList | undefined {
    const key = JSON.stringify([scorer, ...path]);
    const known = this.#lists.get(key);
    if (known || this.#lists.size >= maxLists) return known;
    const list = { scorer, path, values: [], rows: [] };
    this.#lists.set(key, list);
    return list;
  }

  /** Returns the lists in the order in which their first values were added. */
  toArray(): ScoreList[] {
    return [...this.#lists.values()];
  }
}

/** Returns the number that a score counts as: 1 for passed, 0 for not passed; undefined for a label. */
export function scoreNumber(value: ScoreValue): number | undefined {
  return typeof value === 'string' ? undefined : Number(value);
}

/** Returns the sum; undefined without numbers. */
export function sumOf(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((sum, number) => sum + number, 0);
}

/** Returns the arithmetic mean; undefined without numbers. */
export function meanOf(numbers: readonly number[]): number | undefined {
  const sum = sumOf(numbers);
  return sum === undefined ? undefined : sum / numbers.length;
}
