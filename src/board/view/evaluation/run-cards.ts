import { type ComponentChild, h } from 'preact';
import type { RunWithFigures } from '../../../evaluations/read-run-results.ts';
import { statusWords } from '../../../evaluations/result-words.ts';
import type { Formats } from '../shared/theme.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { runName } from './row-outcomes.ts';

/** Lays out runs side by side: what each ran, how far it is, and what that took. */
export function runCards(runs: readonly RunWithFigures[], formats: Formats): ComponentChild {
  const cards = runs.map((run, index) =>
    h(
      'li',
      { class: 'run' },
      h('h2', {}, runs.length > 1 ? runName(index) : 'Run'),
      statusOf(run, formats),
      h(
        'dl',
        {},
        factsOf(run, formats).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, visibleText(value))]),
      ),
    ),
  );
  return h('ol', { class: 'side-by-side', 'aria-label': 'Runs' }, cards);
}

/** Shows the status of a run and, while it is running, its progress. */
export function statusOf(run: RunWithFigures, formats: Formats): ComponentChild {
  const { status, completed, total, error } = run;
  const isRunning = status === 'running';
  const bar =
    isRunning && total !== undefined
      ? h('progress', { max: total, value: completed ?? 0, 'aria-label': 'Predictions done' })
      : undefined;
  return h(
    'div',
    { class: 'line run-status', 'data-status': plainText(status) },
    h('span', {}, plainText(statusWords(run, formats))),
    bar,
    error !== undefined && h('p', { class: 'problem' }, visibleText(error)),
  );
}

function factsOf(run: RunWithFigures, formats: Formats): [string, string][] {
  const { model, prompt, started_at, predictions, errors, latency_seconds, run_id } = run;
  const { tokens, cost, judge_tokens, judge_cost } = run;
  const number = (value?: number): string | undefined => (value === undefined ? value : formats.number(value));
  const failed = errors === undefined ? '' : `, ${number(errors)} of them failed`;
  const facts: [string, string | undefined][] = [
    ['Model', model],
    ['Prompt', prompt],
    ['Started', started_at && formats.time(started_at, 'medium')],
    ['Predictions', predictions === undefined ? undefined : `${number(predictions)}${failed}`],
    ['Tokens', number(tokens)],
    ['Cost, USD', number(cost)],
    ['Tokens of judges', number(judge_tokens)],
    ['Cost of judges, USD', number(judge_cost)],
    ['Mean latency', latency_seconds === undefined ? undefined : `${number(latency_seconds)} s`],
    ['Id', run_id],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
}
