/** The classes that two annotators gave to one item: the first annotator's, then the second's. */
export type ClassPair = readonly [string, string];

/** Returns the number of items that both annotators put into the same class. */
export function countAgreed(pairs: readonly ClassPair[]): number {
  return pairs.filter(([first, second]) => first === second).length;
}

/** Returns the percentage (0–100) of items on which the annotators agree; undefined without items. */
export function percentAgreement(pairs: readonly ClassPair[]): number | undefined {
  return pairs.length === 0 ? undefined : (100 * countAgreed(pairs)) / pairs.length;
}

/**
 * Returns Cohen's unweighted kappa: the agreement beyond chance, as a share of what is possible beyond chance. It is
 * undefined without items, and when both annotators used one and the same class only, where chance alone explains it.
 */
export function cohensKappa(pairs: readonly ClassPair[]): number | undefined {
  const [first, second] = [countUses(pairs.map(([a]) => a)), countUses(pairs.map(([, b]) => b))];
  // Whole numbers until the division, so that the comparison is exact.
  let byChance = 0;
  for (const [name, uses] of first) byChance += uses * (second.get(name) ?? 0);
  const possible = pairs.length ** 2 - byChance;
  return possible === 0 ? undefined : (pairs.length * countAgreed(pairs) - byChance) / possible;
}

/** Counts of each pair of classes: rows are the first annotator's classes, columns the second's. */
export interface ConfusionTable {
  /** The classes that either annotator used: numbers in their order, anything else with the most used first. */
  classes: string[];
  counts: number[][];
  /** Number of classes that were used less and are not in the table. */
  otherClasses: number;
}

/** Builds the confusion table of the `maxClasses` most used classes. */
export function confusionTable(pairs: readonly ClassPair[], maxClasses: number): ConfusionTable {
  const uses = [...countUses(pairs.flat())].sort(([a, uses], [b, others]) => others - uses || (a < b ? -1 : 1));
  const classes = uses.slice(0, maxClasses).map(([name]) => name);
  if (classes.every((name) => Number.isFinite(Number(name)))) classes.sort((a, b) => Number(a) - Number(b));
  const places = new Map(classes.map((name, place) => [name, place]));
  const counts = classes.map(() => classes.map(() => 0));
  for (const [first, second] of pairs) {
    const [row, column] = [places.get(first), places.get(second)];
    if (row !== undefined && column !== undefined) counts[row]![column]! += 1;
  }
  return { classes, counts, otherClasses: uses.length - classes.length };
}

function countUses(names: readonly string[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const name of names) uses.set(name, (uses.get(name) ?? 0) + 1);
  return uses;
}
