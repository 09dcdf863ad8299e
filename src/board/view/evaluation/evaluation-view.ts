import { type ComponentChild, render } from 'preact';
import type { RowChoice } from '../../../evaluations/rank-rows.ts';
import type { CallResult } from '../../../tools/read-call.ts';
import type { EvaluationResult } from '../../../tools/read-evaluation.ts';
import { closedRowChars, pageSize } from '../../page-sizes.ts';
import { describeFailure } from '../shared/describe-error.ts';
import { type Arguments, dataOf, type Host, type HostEvents, type ToolResult } from '../shared/host.ts';
import { connecting, View } from '../shared/view.ts';
import { plainText } from '../shared/visible-text.ts';
import {
  changeRow,
  type EvaluationState,
  noResults,
  shownCount,
  titleOf,
  withFirstResults,
  withMoreResults,
  withWholes,
} from './evaluation-state.ts';
import { cutPaths } from './row-outcomes.ts';

/** Characters of a value in an opened row. */
const maxOpenedChars = 30_000;

/** The results of evaluations: runs side by side with their rows, or a list of runs to choose from. */
export class EvaluationView extends View<EvaluationState> {
  /** Counts what was opened: a result that comes after the person has opened something else is dropped. */
  #openings = 0;

  /** @param draw returns the page for the state of the View. @param connect see {@link View}. */
  constructor(
    root: HTMLElement,
    draw: (view: EvaluationView) => ComponentChild[],
    connect: (events: HostEvents) => Host,
  ) {
    super('heddle evaluation show', { ...connecting, ...noResults }, () => render(draw(this), root), connect);
    this.announce(connecting.message);
  }

  open(args: Arguments): void {
    void this.#open(args);
  }

  receive(result: ToolResult): void {
    if (!this.state.page) this.#show(dataOf<EvaluationResult>(result));
  }

  /** Opens other runs, with the project of these, and moves the focus to their heading. */
  async openOther(args: Arguments): Promise<void> {
    const { project_id } = this.arguments ?? {};
    if (await this.#open({ ...args, ...(project_id !== undefined && { project_id }) }))
      document.querySelector('h1')?.focus();
  }

  /** Shows other rows. */
  choose(only: RowChoice): void {
    this.setMembers({ choice: only });
    this.open({ ...this.arguments, only });
  }

  /** Loads the next page, and moves the focus to its first row or run. */
  loadMore(): void {
    const offset = this.state.page?.next_offset;
    if (offset === undefined) return;
    const opening = this.#openings;
    const before = shownCount(this.state);
    void this.loadFurther(async () => {
      const next = await this.call<EvaluationResult>('read_evaluation', this.#request({ offset }));
      if (opening !== this.#openings) return;
      this.update(withMoreResults, next);
      document.querySelectorAll<HTMLElement>('.row-title, tbody button')[before]?.focus();
    });
  }

  /** Opens or closes a row. */
  toggleRow(id: string): void {
    const isOpen = !this.state.rows.get(id)?.isOpen;
    this.update(changeRow, id, { isOpen });
    if (isOpen) void this.loadWholes(id);
  }

  /** Loads what the result has cut in a row, in one call for each run. */
  async loadWholes(id: string): Promise<void> {
    const { row, wholes } = this.state.rows.get(id)!;
    const wanted = cutPaths(row, (key) => wholes.has(key));
    const focused = document.activeElement?.closest('.card');
    this.update(changeRow, id, { isLoading: wanted.size > 0, problem: undefined });
    for (const [callId, paths] of wanted) if (!(await this.loadWhole(id, callId, paths))) break;
    this.update(changeRow, id, { isLoading: false });
    // The button that was pressed may be gone.
    if (document.activeElement === document.body) focused?.querySelector<HTMLElement>('.row-title')?.focus();
  }

  /** Loads values of a recorded call; returns false after a failure, which its row says. */
  async loadWhole(id: string, call_id: string, paths: string[]): Promise<boolean> {
    const { project_id } = this.arguments ?? {};
    try {
      const { values = {} } = await this.call<CallResult>('read_call', {
        call_id,
        ...(project_id !== undefined && { project_id }),
        paths,
        max_value_chars: maxOpenedChars,
      });
      this.update(withWholes, id, call_id, paths, new Map(Object.entries(values)));
      return true;
    } catch (error) {
      this.update(changeRow, id, { problem: describeFailure(error).sentence });
      return false;
    }
  }

  /** Moves between rows with the arrow keys. */
  readonly moveByKey = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowDown' ? 1 : -1;
    if (!/^Arrow(Down|Up)$/.test(event.key) || event.altKey || event.metaKey || event.ctrlKey) return;
    const titles = [...document.querySelectorAll<HTMLElement>('.row-title')];
    const at = titles.indexOf(event.target as HTMLElement);
    if (at === -1) return;
    event.preventDefault();
    const next = titles[at + by];
    if (next) next.focus();
    else if (by > 0) this.loadMore();
  };

  /** Opens what the arguments name; returns false if something else was opened meanwhile. */
  async #open(args: Arguments): Promise<boolean> {
    this.arguments = args;
    this.#openings += 1;
    const opening = this.#openings;
    await this.load(async () => {
      const page = await this.call<EvaluationResult>('read_evaluation', this.#request());
      if (opening === this.#openings) this.#show(page);
    });
    return opening === this.#openings && !this.state.canRetry;
  }

  /** Returns the arguments of a call: those of the last one, with the length of a page. */
  #request(more: Arguments = {}): Arguments {
    const { offset: _offset, ...args } = this.arguments ?? {};
    return { ...args, limit: pageSize, max_value_chars: closedRowChars, ...more };
  }

  #show(page: EvaluationResult): void {
    const args = this.arguments ?? {};
    if (!this.host.isChat) document.title = `${plainText(titleOf(page))} – heddle evaluation`;
    if (page.rows) {
      // From now on these runs are meant, also where the newest two were asked for.
      const { evaluation: _evaluation, compare: _compare, ...others } = args;
      this.arguments = { ...others, run_ids: page.runs.map(({ run_id }) => run_id) };
    }
    this.update(withFirstResults, page, args);
  }
}
