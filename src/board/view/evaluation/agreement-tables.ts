import { type ComponentChild, h } from 'preact';
import type { ScorerAgreement } from '../../../evaluations/agreement-with-column.ts';
import type { RunWithFigures } from '../../../evaluations/read-run-results.ts';
import { countOf } from '../shared/labels.ts';
import type { Formats } from '../shared/theme.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { runName } from './row-outcomes.ts';

/** Lays out how well each scorer agrees with the column of people's judgements. */
export function agreementTables(
  agreement: readonly ScorerAgreement[],
  runs: readonly RunWithFigures[],
  column: string,
  formats: Formats,
): ComponentChild[] {
  return agreement.map((entry) => {
    const { run_id, scorer, n, percent, kappa, no_kappa, other_classes } = entry;
    const place = runs.findIndex((run) => run.run_id === run_id);
    const ofRun = runs.length > 1 ? `, ${runName(place).toLowerCase()}` : '';
    const name = plainText(scorer);
    const certainty = kappa === undefined ? `kappa undefined: ${no_kappa}` : `kappa ${formats.number(kappa)}`;
    const more = other_classes === undefined ? '' : ` ${countOf(other_classes, 'rarer value')} left out.`;
    return h(
      'section',
      {},
      h('h3', {}, `Agreement of ${name} with ${plainText(column)}${ofRun}`),
      h('p', {}, `${formats.percent(percent / 100)} of ${countOf(n, 'row')} agree, ${certainty}.${more}`),
      h(
        'div',
        // A wide table scrolls by itself, also with the keyboard.
        { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': `Agreement of ${name}${ofRun}` },
        confusionTable(entry, column, formats),
      ),
    );
  });
}

function confusionTable(
  { scorer, classes, confusion }: ScorerAgreement,
  column: string,
  formats: Formats,
): ComponentChild {
  const heading = h('th', { scope: 'col' }, visibleText(`${column} \\ ${scorer}`));
  const headings = classes.map((name) => h('th', { scope: 'col' }, visibleText(name)));
  const lines = confusion.map((counts, row) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, visibleText(classes[row] ?? '')),
      counts.map((count, at) => h('td', { class: at === row ? 'agrees' : undefined }, formats.number(count))),
    ),
  );
  return h('table', {}, h('thead', {}, h('tr', {}, heading, headings)), h('tbody', {}, lines));
}
