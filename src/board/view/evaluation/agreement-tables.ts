import { element } from '../shared/element.ts';
import { countOf } from '../shared/labels.ts';
import type { Formats } from '../shared/theme.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { type AgreementData, type RunData, runName } from './evaluation-data.ts';

/** Lays out how well each scorer agrees with the column of people's judgements. */
export function agreementTables(
  agreement: readonly AgreementData[],
  runs: readonly RunData[],
  column: string,
  formats: Formats,
): HTMLElement[] {
  return agreement.map((entry) => {
    const { run_id, scorer, n, percent, kappa, no_kappa, other_classes } = entry;
    const place = runs.findIndex((run) => run.run_id === run_id);
    const ofRun = runs.length > 1 ? `, ${runName(place, runs.length).toLowerCase()}` : '';
    const name = plainText(scorer);
    const certainty = kappa === undefined ? `kappa undefined: ${no_kappa}` : `kappa ${formats.number(kappa)}`;
    const more = other_classes === undefined ? '' : ` ${countOf(other_classes, 'rarer value')} left out.`;
    return element(
      'section',
      {},
      element('h3', {}, `Agreement of ${name} with ${plainText(column)}${ofRun}`),
      element('p', {}, `${formats.percent(percent / 100)} of ${countOf(n, 'row')} agree, ${certainty}.${more}`),
      element(
        'div',
        // A wide table scrolls by itself, also with the keyboard.
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Agreement of ${name}${ofRun}` },
        confusionTable(entry, column, formats),
      ),
    );
  });
}

function confusionTable({ scorer, classes, confusion }: AgreementData, column: string, formats: Formats): HTMLElement {
  const heading = element('th', { scope: 'col' }, visibleText(`${column} \\ ${scorer}`));
  const headings = classes.map((name) => element('th', { scope: 'col' }, visibleText(name)));
  const lines = confusion.map((counts, row) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, visibleText(classes[row] ?? '')),
      ...counts.map((count, at) => element('td', { class: at === row ? 'agrees' : undefined }, formats.number(count))),
    ),
  );
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, heading, ...headings)),
    element('tbody', {}, ...lines),
  );
}
