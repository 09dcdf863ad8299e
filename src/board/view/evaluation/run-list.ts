import { button, element } from '../shared/element.ts';
import type { Formats } from '../shared/theme.ts';
import { plainText, visibleText } from '../shared/visible-text.ts';
import type { RunData } from './evaluation-data.ts';
import { statusOf, takenBy } from './run-cards.ts';
import { figureText } from './scorer-charts.ts';

/** A list of runs, in which a person opens one or chooses two to compare. */
export class RunList {
  readonly node: HTMLElement;
  readonly #body = element('tbody', { role: 'rowgroup' });
  readonly #runs: RunData[] = [];
  readonly #boxes = new Map<string, HTMLInputElement>();
  readonly #formats: Formats;
  readonly #open: (runIds: string[]) => void;
  readonly #compare: HTMLButtonElement;

  /** @param open shows runs; of two, the older comes first and is the baseline. */
  constructor(formats: Formats, open: (runIds: string[]) => void) {
    this.#formats = formats;
    this.#open = open;
    const compare = (): void => {
      if (this.#chosen().length === 2) open(this.#chosen());
    };
    this.#compare = button('Compare the chosen runs', compare, { class: 'primary', 'aria-disabled': 'true' });
    // Cells become blocks on a narrow page, which would end their being a table without the roles.
    const headings = columns.map((name) => element('th', { role: 'columnheader', scope: 'col' }, name));
    const head = element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...headings));
    const table = element('table', { class: 'runs', role: 'table', 'aria-label': 'Runs' }, head, this.#body);
    this.node = element(
      'div',
      {},
      element('p', { class: 'description' }, 'Open a run, or choose two to compare; the older one is the baseline.'),
      table,
      this.#compare,
    );
  }

  get count(): number {
    return this.#runs.length;
  }

  /** Adds runs at the end, and returns the button of the first one. */
  add(runs: readonly RunData[]): HTMLElement | undefined {
    const known = new Set(this.#runs.map(({ run_id }) => run_id));
    const rows = runs.filter(({ run_id }) => !known.has(run_id)).map((run) => this.#row(run));
    this.#body.append(...rows);
    return rows[0]?.querySelector('button') ?? undefined;
  }

  #row(run: RunData): HTMLElement {
    const formats = this.#formats;
    const { run_id, started_at, model, prompt, scorers = [] } = run;
    this.#runs.push(run);
    const name = started_at === undefined ? plainText(run_id) : formats.time(started_at, 'medium');
    const box = element('input', {
      type: 'checkbox',
      'aria-label': `Choose the run ${name} to compare`,
      onchange: () => this.#choose(),
    });
    this.#boxes.set(run_id, box);
    const scores = scorers.map((figures) =>
      element('li', {}, visibleText(figures.scorer), ` ${figureText(figures, formats)}`),
    );
    const cells: (readonly (Node | string | false)[])[] = [
      [box],
      [button(name, () => this.#open([run_id]), { 'aria-label': `Open the run ${name}` }), statusOf(run, formats)],
      [
        model !== undefined && element('div', {}, visibleText(model)),
        prompt !== undefined && element('div', { class: 'prompt' }, visibleText(prompt)),
      ],
      [takenBy(run, formats)],
      [element('ul', {}, ...scores)],
    ];
    return element('tr', { role: 'row' }, ...cells.map((content) => element('td', { role: 'cell' }, ...content)));
  }

  #choose(): void {
    const count = this.#chosen().length;
    this.#compare.setAttribute('aria-disabled', String(count !== 2));
    for (const box of this.#boxes.values()) box.disabled = count === 2 && !box.checked;
  }

  /** Returns the chosen runs, the older one first. */
  #chosen(): string[] {
    const chosen = this.#runs.filter(({ run_id }) => this.#boxes.get(run_id)!.checked);
    return chosen.map(({ run_id }) => run_id).reverse();
  }
}

const columns = ['Choose', 'Run', 'Model and prompt', 'Took', 'Scores'];
