import { countEach } from './count-each.ts';
import { sumsOf } from './kappa.ts';

/**
 * Returns Krippendorff's alpha for classes: the agreement of any number of annotators beyond chance. `items` has the classes that
 * each item was given; an item with one of them does not count. It is undefined where fewer than two classes were used.
 */
export function alphaOfClasses(items: readonly (readonly string[])[]): number | undefined {
  return alphaOf(items, (classes) => {
    let same = 0;
    for (const uses of countEach(classes).values()) same += uses ** 2;
    return classes.length ** 2 - same;
  });
}

/** Returns Krippendorff's alpha for numbers, whose distance is the square of their difference. */
export function alphaOfNumbers(items: readonly (readonly number[])[]): number | undefined {
  const origin = items[0]?.[0] ?? 0;
  return alphaOf(items, (numbers) => {
    const { sum, ofSquares } = sumsOf(numbers.map((number) => number - origin));
    return 2 * (numbers.length * ofSquares - sum ** 2);
  });
}

/** @param distanceOf returns the sum of the distances of all ordered pairs of values. */
function alphaOf<Value>(
  items: readonly (readonly Value[])[],
  distanceOf: (values: readonly Value[]) => number,
): number | undefined {
  const compared = items.filter(({ length }) => length > 1);
  const values = compared.flat();
  const byChance = distanceOf(values) / (values.length - 1);
  if (values.length === 0 || byChance === 0) return undefined;
  const observed = compared.reduce((sum, each) => sum + distanceOf(each) / (each.length - 1), 0);
  return 1 - observed / byChance;
}
