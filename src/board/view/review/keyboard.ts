/** The actions of the keys; each acts on the card that has the focus. */
interface KeyActions {
  move: (by: number) => void;
  moveActive: (by: number) => void;
  choose: (index: number) => void;
  write: () => void;
  /** Takes one of the letters of {@link shortcuts}. */
  act: (key: string) => void;
}

/** The keys and what they do, for people. */
export const shortcuts: readonly (readonly [string, string])[] = [
  ['↑ ↓', 'previous or next item (also k, j)'],
  ['← →', 'previous or next field'],
  ['1–9', 'give the value with this number'],
  ['e', 'write into the field'],
  ['c', 'accept the suggestions'],
  ['s', 'skip'],
  ['f', 'finish as it is'],
  ['n', 'note'],
  ['u', 'undo what is not written'],
  ['o', 'what everybody judged'],
  ['x', 'select'],
  ['a', 'select all'],
  ['Enter', 'write what is decided'],
  ['Esc', 'back to the item'],
];

const arrows: Record<string, (actions: KeyActions) => void> = {
  ArrowDown: ({ move }) => move(1),
  ArrowUp: ({ move }) => move(-1),
  ArrowRight: ({ moveActive }) => moveActive(1),
  ArrowLeft: ({ moveActive }) => moveActive(-1),
};

/**
 * Listens to the keys of the cards.
 * @param hasSingleKeys false if letters and digits must do nothing, because people who speak to their computer cause them.
 */
export function listenToKeys(feed: HTMLElement, hasSingleKeys: () => boolean, actions: KeyActions): void {
  feed.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.altKey || event.metaKey || event.ctrlKey || event.defaultPrevented) return;
    const node = target as HTMLElement;
    if (key === 'Escape') {
      node.closest<HTMLElement>('article')?.focus();
      return;
    }
    const isInput = /^(INPUT|SELECT|TEXTAREA)$/.test(node.tagName) && (node as HTMLInputElement).type !== 'checkbox';
    if (isInput) return;
    const action = actionFor(key, node.tagName === 'ARTICLE', hasSingleKeys(), actions);
    if (!action) return;
    event.preventDefault();
    action();
  });
  // Someone who has just opened the page has no card yet.
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowDown' || document.activeElement !== document.body) return;
    const first = feed.querySelector('article');
    if (!first) return;
    event.preventDefault();
    first.focus();
  });
}

function actionFor(
  key: string,
  isCard: boolean,
  hasSingleKeys: boolean,
  actions: KeyActions,
): (() => void) | undefined {
  const arrow = arrows[key];
  if (arrow) return () => arrow(actions);
  // On a button, Enter presses that button.
  if (key === 'Enter') return isCard ? actions.write : undefined;
  if (!hasSingleKeys) return undefined;
  if (/^[1-9]$/.test(key)) return () => actions.choose(Number(key) - 1);
  if (key === 'j' || key === 'k') return () => actions.move(key === 'j' ? 1 : -1);
  return /^[ecsfnuoxa]$/.test(key) ? () => actions.act(key) : undefined;
}
