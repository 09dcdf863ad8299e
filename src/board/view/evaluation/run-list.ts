import { type ComponentChild, h } from 'preact';
import type { RunWithFigures } from '../../../evaluations/read-run-results.ts';
import { figureWords, usageWords } from '../../../evaluations/result-words.ts';
import { button } from '../shared/button.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { runsToCompare, toggleRun } from './evaluation-state.ts';
import type { EvaluationView } from './evaluation-view.ts';
import { statusOf } from './run-cards.ts';

const columns = ['Choose', 'Run', 'Model and prompt', 'Took', 'Scores'];

/** Draws a list of runs, in which a person opens one or chooses two to compare. */
export function runList(view: EvaluationView): ComponentChild[] {
  const chosen = runsToCompare(view.state);
  const compare = (): void => {
    if (chosen.length === 2) view.openOther({ run_ids: chosen });
  };
  // Cells become blocks on a narrow page, which would end their being a table without the roles.
  const headings = columns.map((name) => h('th', { role: 'columnheader', scope: 'col' }, name));
  const head = h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, headings));
  const body = h(
    'tbody',
    { role: 'rowgroup' },
    view.state.page?.runs.map((run) => runRow(run, view)),
  );
  return [
    h('p', { class: 'description' }, 'Open a run, or choose two to compare; the older one is run 1.'),
    h('table', { class: 'runs', role: 'table', 'aria-label': 'Runs' }, head, body),
    button('Compare the chosen runs', compare, { class: 'primary', 'aria-disabled': chosen.length !== 2 }),
  ];
}

function runRow(run: RunWithFigures, view: EvaluationView): ComponentChild {
  const { formats, chosen } = view.state;
  const { run_id, started_at, model, prompt, scorers = [] } = run;
  const name = started_at === undefined ? plainText(run_id) : formats.time(started_at, 'medium');
  const box = {
    type: 'checkbox',
    'aria-label': `Choose the run ${name} to compare`,
    checked: chosen.has(run_id),
    disabled: chosen.size === 2 && !chosen.has(run_id),
    onChange: () => view.update(toggleRun, run_id),
  };
  const open = button(name, () => view.openOther({ run_ids: [run_id] }), { 'aria-label': `Open the run ${name}` });
  const scores = scorers.map((figures) =>
    h('li', {}, visibleText(`${figures.scorer} ${figureWords(figures, formats)}`)),
  );
  const cells: ComponentChild[][] = [
    [h('input', box)],
    [open, statusOf(run, formats)],
    [
      model !== undefined && h('div', {}, visibleText(model)),
      prompt !== undefined && h('div', { class: 'prompt' }, visibleText(prompt)),
    ],
    [visibleText(usageWords(run, formats).join(', '))],
    [h('ul', {}, scores)],
  ];
  return h(
    'tr',
    { key: run_id, role: 'row' },
    cells.map((content) => h('td', { role: 'cell' }, content)),
  );
}
