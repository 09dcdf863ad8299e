import { describe, expect, it } from 'vitest';
import { agreementFigures, confusionTable } from '../../../src/core/statistics/agreement.ts';
import { type ClassPair, cohensKappa } from '../../../src/core/statistics/kappa.ts';

/** Returns the judgements behind a confusion table, whose rows are the first annotator's classes. */
const pairsOf = (...counts: number[][]): ClassPair[] =>
  counts.flatMap((row, first) =>
    row.flatMap((count, second) =>
      Array.from({ length: count }, (): ClassPair => [`class ${first}`, `class ${second}`]),
    ),
  );

/** Returns the percentage of items on which the annotators agree, as results show it. */
const percentAgreement = (pairs: readonly ClassPair[]): number => agreementFigures(pairs, 10, 'one value').percent;

describe('percentAgreement and cohensKappa', () => {
  it.each([
    ['50 grant proposals read by two people', pairsOf([20, 5], [10, 15]), 70, 0.4],
    ['Cohen 1960, table 2', pairsOf([88, 14, 18], [10, 40, 10], [2, 6, 12]), 70, 0.4915254],
    ['Fleiss 1981, two raters of 100 patients', pairsOf([75, 1, 4], [5, 4, 1], [0, 0, 10]), 89, 0.6764706],
    [
      'Landis and Koch 1977, two neurologists in Winnipeg',
      pairsOf([38, 5, 0, 1], [33, 11, 3, 0], [10, 14, 5, 6], [3, 7, 3, 10]),
      43,
      0.2079425,
    ],
    ['Sprent and Smeeton, two dentists', pairsOf([40, 5], [25, 30]), 70, 0.4174757],
    ['similar margins, 60 % agreement', pairsOf([45, 15], [25, 15]), 60, 0.1304348],
    ['different margins, 60 % agreement', pairsOf([25, 35], [5, 35]), 60, 0.2592593],
  ])('match the published values: %s', (_, pairs, percent, kappa) => {
    expect(percentAgreement(pairs)).toBe(percent);
    expect(cohensKappa(pairs)?.kappa).toBeCloseTo(kappa, 6);
  });

  it('are 100 and 1 for perfect agreement in two classes, and 0 and -1 for perfect disagreement', () => {
    const [same, opposite] = [pairsOf([5, 0], [0, 5]), pairsOf([0, 5], [5, 0])];
    expect([percentAgreement(same), cohensKappa(same)?.kappa]).toEqual([100, 1]);
    expect([percentAgreement(opposite), cohensKappa(opposite)?.kappa]).toEqual([0, -1]);
  });

  it('give no kappa for one item, which is too few to say', () => {
    const pairs: ClassPair[] = [['yes', 'no']];
    expect(agreementFigures(pairs, 10, 'one value')).toMatchObject({ percent: 0, no_kappa: 'one item is too few' });
    expect(agreementFigures(pairs, 10, 'one value')).not.toHaveProperty('kappa');
  });

  it('give no kappa without items', () => {
    expect(cohensKappa([])).toBeUndefined();
  });

  it.each([1, 2, 99_991])('give no kappa when both annotators used the same class for all %i items', (items) => {
    const pairs = pairsOf([items]);
    expect([percentAgreement(pairs), cohensKappa(pairs)]).toEqual([100, undefined]);
  });

  it('give a kappa of 0 when one annotator used one class only and the other did not', () => {
    expect(cohensKappa(pairsOf([7, 3]))?.kappa).toBe(0);
    expect(cohensKappa(pairsOf([0, 2]))?.kappa).toBe(0);
  });

  it('give the same kappa with the annotators exchanged', () => {
    expect(cohensKappa(pairsOf([20, 10], [5, 15]))?.kappa).toBeCloseTo(0.4, 10);
  });
});

describe('confusionTable', () => {
  it('counts each pair of classes, the most used classes first', () => {
    const pairs: ClassPair[] = [
      ['no', 'yes'],
      ['yes', 'yes'],
      ['yes', 'maybe'],
      ['yes', 'yes'],
    ];
    expect(confusionTable(pairs, 10)).toEqual({
      classes: ['yes', 'maybe', 'no'],
      counts: [
        [2, 1, 0],
        [0, 0, 0],
        [1, 0, 0],
      ],
      otherClasses: 0,
    });
  });

  it('keeps the most used classes and counts the others', () => {
    const pairs = pairsOf([3, 1, 0], [0, 2, 0], [0, 0, 1]);
    expect(confusionTable(pairs, 2)).toEqual({
      classes: ['class 0', 'class 1'],
      counts: [
        [3, 1],
        [0, 2],
      ],
      otherClasses: 1,
    });
  });

  it('keeps numbers in their order', () => {
    const pairs: ClassPair[] = [
      ['10', '2'],
      ['10', '10'],
      ['1', '1'],
    ];
    expect(confusionTable(pairs, 10)).toEqual({
      classes: ['1', '2', '10'],
      counts: [
        [1, 0, 0],
        [0, 0, 0],
        [0, 1, 1],
      ],
      otherClasses: 0,
    });
  });

  it('is empty without pairs', () => {
    expect(confusionTable([], 10)).toEqual({ classes: [], counts: [], otherClasses: 0 });
  });
});
