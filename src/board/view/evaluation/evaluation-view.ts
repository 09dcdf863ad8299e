import { closedRowChars, pageSize } from '../../page-sizes.ts';
import { button, element } from '../shared/element.ts';
import { type Arguments, dataOf } from '../shared/host.ts';
import { problemOfFailure } from '../shared/problem.ts';
import { ViewShell } from '../shared/view-shell.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import { agreementTables } from './agreement-tables.ts';
import type { ChosenRows, EvaluationPage } from './evaluation-data.ts';
import { RowCard, type RowOwner } from './row-card.ts';
import { runCards } from './run-cards.ts';
import { RunList } from './run-list.ts';
import { scorerCharts } from './scorer-charts.ts';

/** Characters of a value in an opened row. */
const maxOpenedChars = 30_000;

const choiceNames: Record<ChosenRows, string> = {
  changed: 'Rows that changed, the largest losses first',
  worst: 'All rows, the worst first',
  failed: 'Rows that failed',
};

/** The results of evaluations: runs side by side with their rows, or a list of runs to choose from. */
export class EvaluationView {
  readonly #shell: ViewShell;
  readonly #title = element('h1', { tabindex: -1 });
  readonly #refresh = button('Refresh', () => this.#open(this.#shell.arguments!), { hidden: true });
  readonly #allRuns = element('div', { class: 'all-runs' });
  readonly #report = element('div');
  readonly #choice = element('select', { 'aria-label': 'Rows to show', onchange: () => this.#changeChoice() });
  readonly #rowsHead = element(
    'div',
    { hidden: true },
    element('h2', {}, 'Rows'),
    element('div', { class: 'toolbar' }, this.#choice),
  );
  readonly #rows = element('ol', { class: 'rows', 'aria-label': 'Rows', 'aria-busy': 'true' });
  readonly #more = button('Show more', () => this.#loadMore(), { class: 'wide', hidden: true });
  readonly #cards = new Map<string, RowCard>();
  readonly #owner: RowOwner;
  #page: EvaluationPage | undefined;
  #runList: RunList | undefined;
  /** The report that is shown, as JSON. The same one again leaves the focus and what was chosen as they are. */
  #shownReport: string | undefined;
  /** Counts what was opened: a result that comes after the person has opened something else is dropped. */
  #openings = 0;

  constructor(root: HTMLElement) {
    this.#shell = new ViewShell({
      command: 'heddle evaluation show',
      list: this.#rows,
      open: (args) => this.#open(args),
      receive: (result) => {
        if (!this.#page) this.#show(dataOf<EvaluationPage>(result));
      },
      retry: () => this.#open(this.#shell.arguments!),
    });
    this.#owner = {
      formats: () => this.#shell.formats,
      readValues: (callId, paths) => this.#readValues(callId, paths),
    };
    this.#rows.addEventListener('keydown', (event) => this.#moveByKey(event));
    root.append(
      element(
        'header',
        { class: 'head' },
        this.#title,
        element('div', { class: 'toolbar' }, this.#refresh, this.#allRuns),
      ),
      this.#report,
      this.#rowsHead,
      this.#rows,
      this.#more,
      this.#shell.status,
    );
  }

  /** Opens what the arguments name, and moves the focus to its heading if the person asked for it. */
  #open(args: Arguments, isAsked = false): void {
    this.#shell.arguments = args;
    this.#openings += 1;
    const opening = this.#openings;
    void this.#shell.load(async () => {
      const page = await this.#shell.call<EvaluationPage>('read_evaluation', this.#request());
      if (opening !== this.#openings) return;
      this.#show(page);
      if (isAsked) this.#title.focus();
    });
  }

  /** Returns the arguments of a call: those of the last one, with the length of a page. */
  #request(more: Arguments = {}): Arguments {
    const { offset: _offset, ...args } = this.#shell.arguments ?? {};
    return { ...args, limit: pageSize, max_value_chars: closedRowChars, ...more };
  }

  #show(page: EvaluationPage): void {
    this.#page = page;
    const evaluations = [...new Set(page.runs.flatMap(({ evaluation }) => evaluation ?? []))];
    const title = evaluations.length === 0 ? 'Evaluation' : evaluations.join(', ');
    if (!this.#shell.host.isChat) document.title = `${plainText(title)} – heddle evaluation`;
    this.#title.replaceChildren(visibleText(title));
    this.#refresh.hidden = false;
    const isList = page.rows === undefined;
    this.#allRuns.replaceChildren(
      ...(isList ? [] : evaluations).map((name) =>
        button(`All runs of ${plainText(name)}`, () => this.#openOther({ evaluation: name })),
      ),
    );
    this.#rowsHead.hidden = isList;
    this.#rows.hidden = isList;
    const { runs, comparisons, agreement, warnings } = page;
    const report = JSON.stringify([isList, runs, comparisons, agreement, warnings]);
    const isShown = report === this.#shownReport;
    this.#shownReport = report;
    if (!isList) this.#showRuns(page, isShown);
    else if (isShown) this.#updateMore('run');
    else this.#showList(page);
  }

  /** Opens other runs, with the project of these. */
  #openOther(args: Arguments): void {
    const { project_id } = this.#shell.arguments ?? {};
    this.#open({ ...args, ...(project_id !== undefined && { project_id }) }, true);
  }

  #showList(page: EvaluationPage): void {
    this.#runList = new RunList(this.#shell.formats, (run_ids) => this.#openOther({ run_ids }));
    this.#clearRows();
    this.#report.replaceChildren(this.#runList.node, ...warningsOf(page));
    this.#runList.add(page.runs);
    this.#updateMore('run');
  }

  #showRuns(page: EvaluationPage, isShown: boolean): void {
    const { runs } = page;
    const { arguments: args = {} } = this.#shell;
    this.#runList = undefined;
    // From now on these runs are meant, also where the newest two were asked for.
    const { evaluation: _evaluation, compare: _compare, ...others } = args;
    this.#shell.arguments = { ...others, run_ids: runs.map(({ run_id }) => run_id) };
    if (!isShown) this.#showReport(page, String(args.expected));
    const choices: ChosenRows[] = runs.length > 1 ? ['changed', 'worst', 'failed'] : ['worst', 'failed'];
    this.#choice.replaceChildren(...choices.map((value) => element('option', { value }, choiceNames[value])));
    this.#choice.value =
      (args.only as ChosenRows | undefined) ?? (runs.length > 1 && args.expected === undefined ? 'changed' : 'worst');
    this.#keepRows(page);
    this.#addRows(page);
    this.#updateMore('row');
  }

  /** Shows the runs side by side, and their scores. @param expected the column that scorers are compared with. */
  #showReport(page: EvaluationPage, expected: string): void {
    const { runs, comparisons = [], agreement = [] } = page;
    const { formats } = this.#shell;
    const charts = [
      ...scorerCharts(runs, comparisons, formats),
      ...agreementTables(agreement, runs, expected, formats),
    ];
    const note =
      'Passed or a higher number counts as better. p: two-sided sign test; from 0.05 on the difference could be chance.';
    const shared = comparisons.map(({ run_id, shared_rows, other_rows }) => {
      const name = `Run ${runs.findIndex((run) => run.run_id === run_id) + 1}`;
      const more = other_rows === undefined ? '' : `; ${formats.number(other_rows)} more are in one of them only`;
      return element(
        'p',
        { class: 'quiet-line' },
        `${name} and run 1 share ${formats.number(shared_rows)} rows${more}.`,
      );
    });
    this.#report.replaceChildren(
      runCards(runs, formats),
      ...warningsOf(page),
      element('h2', {}, 'Scores'),
      ...(charts.length === 0 ? [element('p', { class: 'reference' }, 'There are no scores.')] : charts),
      ...shared,
      ...(comparisons.length > 0 ? [element('p', { class: 'quiet-line' }, note)] : []),
    );
  }

  #clearRows(): void {
    this.#cards.clear();
    this.#rows.replaceChildren();
  }

  /** Removes the rows that a new first page does not have; those that stay keep being open. */
  #keepRows({ rows = [] }: EvaluationPage): void {
    const ids = new Set(rows.map(({ call_id }) => call_id));
    for (const [id, card] of this.#cards) {
      if (ids.has(id)) continue;
      card.node.remove();
      this.#cards.delete(id);
    }
  }

  /** Adds rows in their order, and returns the first new one. */
  #addRows({ rows = [] }: EvaluationPage): RowCard | undefined {
    let first: RowCard | undefined;
    const start = rows.some(({ call_id }) => this.#cards.has(call_id)) ? 0 : this.#cards.size;
    for (const [index, row] of rows.entries()) {
      const known = this.#cards.get(row.call_id);
      const card = known ?? new RowCard(row, this.#owner);
      known?.receive(row);
      this.#cards.set(row.call_id, card);
      if (!known) first ??= card;
      // A row that is moved would lose the focus.
      const there = this.#rows.children[start + index];
      if (there !== card.node) this.#rows.insertBefore(card.node, there ?? null);
    }
    return first;
  }

  #updateMore(noun: string): void {
    const { total = 0, next_offset } = this.#page ?? {};
    const shown = this.#runList?.count ?? this.#cards.size;
    const { formats } = this.#shell;
    this.#more.hidden = next_offset === undefined;
    this.#more.textContent = `Show more ${noun}s`;
    const counts = `${formats.number(shown)} of ${formats.number(total)} ${noun}${total === 1 ? '' : 's'} shown`;
    this.#shell.announce(total === 0 ? `There are no such ${noun}s.` : `${counts}.`);
  }

  async #loadMore(): Promise<void> {
    const offset = this.#page?.next_offset;
    if (offset === undefined || this.#more.disabled) return;
    this.#more.disabled = true;
    const opening = this.#openings;
    try {
      const page = await this.#shell.call<EvaluationPage>('read_evaluation', this.#request({ offset }));
      if (opening !== this.#openings) return;
      this.#page = page;
      const first = this.#runList ? this.#runList.add(page.runs) : this.#addRows(page)?.toggle;
      this.#updateMore(this.#runList ? 'run' : 'row');
      first?.focus();
    } catch (error) {
      this.#shell.announce(problemOfFailure(error).sentence);
    } finally {
      this.#more.disabled = false;
    }
  }

  #changeChoice(): void {
    this.#open({ ...this.#shell.arguments, only: this.#choice.value });
  }

  async #readValues(call_id: string, paths: string[]): Promise<Record<string, unknown>> {
    const { project_id } = this.#shell.arguments ?? {};
    const { values = {} } = await this.#shell.call<{ values?: Record<string, unknown> }>('read_call', {
      call_id,
      ...(project_id !== undefined && { project_id }),
      paths,
      max_value_chars: maxOpenedChars,
    });
    return values;
  }

  /** Moves between rows with the arrow keys. */
  #moveByKey(event: KeyboardEvent): void {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined || event.altKey || event.metaKey || event.ctrlKey) return;
    const toggles = [...this.#cards.values()].map(({ toggle }) => toggle);
    const at = toggles.indexOf(event.target as HTMLButtonElement);
    const next = toggles[at + by];
    if (at === -1) return;
    event.preventDefault();
    if (next) next.focus();
    else if (by > 0) void this.#loadMore();
  }
}

function warningsOf({ warnings = [] }: EvaluationPage): HTMLElement[] {
  return warnings.map((text) => element('p', { class: 'problem' }, plainText(text)));
}
