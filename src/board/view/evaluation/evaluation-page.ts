import { type ComponentChild, h, type TargetedEvent } from 'preact';
import type { RowChoice } from '../../../evaluations/rank-rows.ts';
import { comparisonNote } from '../../../evaluations/result-words.ts';
import type { EvaluationResult } from '../../../tools/read-evaluation.ts';
import { brand } from '../shared/brand.ts';
import { button } from '../shared/button.ts';
import { countOf } from '../shared/labels.ts';
import { statusLine } from '../shared/view.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { agreementTables } from './agreement-tables.ts';
import { type EvaluationState, evaluationsOf, titleOf } from './evaluation-state.ts';
import type { EvaluationView } from './evaluation-view.ts';
import { RowCard } from './row-card.ts';
import { runName } from './row-outcomes.ts';
import { runCards } from './run-cards.ts';
import { runList } from './run-list.ts';
import { scorerCharts } from './scorer-charts.ts';

const choices: readonly (readonly [RowChoice, string])[] = [
  ['changed', 'Rows that changed, the largest losses first'],
  ['worst', 'All rows, the worst first'],
  ['failed', 'Rows that failed, the worst first'],
  ['errors', 'Rows with an error, the worst first'],
  ['flaky', 'Rows whose trials differ, the worst first'],
];

/** Draws the page of the results of evaluations. */
export function evaluationPage(view: EvaluationView): ComponentChild[] {
  const { page, rows, isBusy, isLoadingMore, formats } = view.state;
  const isList = page !== undefined && page.rows === undefined;
  const names = page?.rows ? evaluationsOf(page) : [];
  const allRuns = names.map((evaluation) =>
    button(`All runs of ${plainText(evaluation)}`, () => view.openOther({ evaluation })),
  );
  const refresh = button('Refresh', () => view.open(view.arguments!), { hidden: !page });
  const toolbar = h('div', { class: 'line toolbar' }, refresh, allRuns);
  const cards = [...rows].map(([key, openable], index) =>
    h(RowCard, { key, id: `row-${index + 1}`, openable, formats, view }),
  );
  const more = { class: 'wide', hidden: page?.next_offset === undefined, disabled: isLoadingMore };
  return [
    h(
      'header',
      { class: 'head' },
      !view.host.isChat && brand(),
      h('h1', { tabIndex: -1 }, page && visibleText(titleOf(page))),
      toolbar,
    ),
    h('div', {}, page && (isList ? [runList(view), warningsOf(page)] : report(page, view.state))),
    h('div', { hidden: !page?.rows }, h('h2', {}, 'Rows'), h('div', { class: 'line toolbar' }, rowChoice(view))),
    h(
      'ol',
      { class: 'rows', 'aria-label': 'Rows', 'aria-busy': isBusy, hidden: isList, onKeyDown: view.moveByKey },
      cards,
    ),
    button(isList ? 'Show more runs' : 'Show more rows', () => view.loadMore(), more),
    statusLine(view),
  ];
}

function rowChoice(view: EvaluationView): ComponentChild {
  const { page, choice } = view.state;
  const offered = choices.filter(([value]) => value !== 'changed' || (page?.runs.length ?? 0) > 1);
  const onChange = ({ currentTarget }: TargetedEvent<HTMLSelectElement>): void =>
    view.choose(currentTarget.value as RowChoice);
  const options = offered.map(([value, label]) => h('option', { value }, label));
  return h('select', { 'aria-label': 'Rows to show', value: choice, onChange }, options);
}

/** Draws the runs side by side, and their scores. */
function report(page: EvaluationResult, { formats, expected = '' }: EvaluationState): ComponentChild[] {
  const { runs, comparisons = [], agreement = [] } = page;
  const charts = [...scorerCharts(runs, comparisons, formats), ...agreementTables(agreement, runs, expected, formats)];
  const shared = comparisons.map(({ run_id, shared_rows, other_rows }) => {
    const name = runName(runs.findIndex((run) => run.run_id === run_id));
    const more = other_rows === undefined ? '' : `, ${formats.number(other_rows)} more in one of them only`;
    return h(
      'p',
      { class: 'quiet-line' },
      `${name} against run 1: ${countOf(shared_rows, 'shared row', formats)}${more}.`,
    );
  });
  return [
    runCards(runs, formats),
    warningsOf(page),
    h('h2', {}, 'Scores'),
    charts.length === 0 ? h('p', { class: 'reference' }, 'There are no scores.') : charts,
    shared,
    comparisons.length > 0 && h('p', { class: 'quiet-line' }, comparisonNote(comparisons)),
  ];
}

function warningsOf({ warnings = [] }: EvaluationResult): ComponentChild[] {
  return warnings.map((text) => h('p', { class: 'problem' }, plainText(text)));
}
