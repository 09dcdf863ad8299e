import type { AgreementFigures, WeightedFigures } from '../core/statistics/agreement.ts';
import { pluralize } from './page.ts';

/** The members of an agreement that its text needs. */
type RenderedFigures<Label> = Partial<Omit<AgreementFigures, 'classes'>> &
  WeightedFigures & { classes?: readonly Label[] | undefined };

type Interval = [number, number] | undefined;

/**
 * Renders an agreement as a line with its figures and a confusion table.
 * @param heading the beginning of the line.
 * @param corner the first cell of the table, which names rows and columns.
 */
export function renderAgreement<Label>(
  heading: string,
  corner: string,
  { percent, kappa, kappa_interval, no_kappa, classes = [], confusion = [], ...more }: RenderedFigures<Label>,
  cellOf: (label: Label | undefined) => string,
): string[] {
  const { other_classes, quadratic_weighted_kappa, quadratic_weighted_kappa_interval } = more;
  const reason =
    no_kappa === undefined
      ? withInterval(`Cohen's unweighted kappa ${kappa}`, kappa_interval)
      : `kappa undefined: ${no_kappa}`;
  const weighted =
    quadratic_weighted_kappa === undefined
      ? ''
      : withInterval(`, weighted by squared difference ${quadratic_weighted_kappa}`, quadratic_weighted_kappa_interval);
  const others = other_classes === undefined ? '' : `, ${pluralize(other_classes, 'rarer value')} left out`;
  return [
    `${heading}, ${percent}% agree, ${reason}${weighted}`,
    [corner + others, ...classes.map(cellOf)].join('\t'),
    ...confusion.map((row, place) => [cellOf(classes[place]), ...row].join('\t')),
  ];
}

function withInterval(figure: string, interval: Interval): string {
  return interval === undefined ? figure : `${figure} (95 %: ${interval[0]} to ${interval[1]})`;
}
