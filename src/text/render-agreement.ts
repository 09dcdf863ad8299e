import type { AgreementFigures } from '../core/statistics/agreement.ts';
import { pluralize } from './page.ts';

/** The members of an agreement that its text needs. */
type RenderedFigures<Label> = Partial<Omit<AgreementFigures, 'classes'>> & { classes?: readonly Label[] | undefined };

/**
 * Renders an agreement as a line with its figures and a confusion table.
 * @param heading the beginning of the line.
 * @param corner the first cell of the table, which names rows and columns.
 */
export function renderAgreement<Label>(
  heading: string,
  corner: string,
  { percent, kappa, no_kappa, classes = [], confusion = [], other_classes }: RenderedFigures<Label>,
  cellOf: (label: Label | undefined) => string,
): string[] {
  const reason = no_kappa === undefined ? `kappa ${kappa}` : `kappa undefined: ${no_kappa}`;
  const more = other_classes === undefined ? '' : `, ${pluralize(other_classes, 'rarer value')} left out`;
  return [
    `${heading}, ${percent}% agree, ${reason}`,
    [corner + more, ...classes.map(cellOf)].join('\t'),
    ...confusion.map((row, place) => [cellOf(classes[place]), ...row].join('\t')),
  ];
}
