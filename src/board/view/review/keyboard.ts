/** The actions of the keys; each acts on the card that has the focus. */
interface KeyActions {
  hasSingleKeys: () => boolean;
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
  ['o', 'all judgements'],
  ['x', 'select'],
  ['a', 'select all'],
  ['Enter', 'write what is decided'],
  ['Esc', 'back to the item'],
];

/** Listens to the keys of the cards. A key that is pressed elsewhere on the page goes to the current card. */
export function listenToKeys(actions: KeyActions): void {
  document.addEventListener('keydown', (event) => {
    const { key, altKey, metaKey, ctrlKey, defaultPrevented } = event;
    if (altKey || metaKey || ctrlKey || defaultPrevented) return;
    const target = event.target as HTMLElement;
    const card = target.closest('article');
    if (key === 'Escape') card?.focus();
    // On a control outside of the cards, arrows scroll the page.
    const isForPage = !card && target !== document.body && key.startsWith('Arrow');
    if (key === 'Escape' || isForPage || isTextControl(target)) return;
    const action = actionFor(key, target === card, actions);
    const current = card ?? document.querySelector<HTMLElement>('article[tabindex="0"]');
    if (!action || !current) return;
    event.preventDefault();
    if (!card) current.focus();
    // The first move only shows which card is the current one.
    if (card || !/^(Arrow|[jk]$)/.test(key)) action();
  });
}

/** Returns whether a control uses letters and digits itself, such as a box for text. */
function isTextControl(node: HTMLElement): boolean {
  return /^(INPUT|SELECT|TEXTAREA)$/.test(node.tagName) && (node as HTMLInputElement).type !== 'checkbox';
}

/** @param isCard true if the card itself has the focus: on a button, Enter presses that button. */
function actionFor(key: string, isCard: boolean, actions: KeyActions): (() => void) | undefined {
  const { move, moveActive, choose, write, act } = actions;
  if (key === 'ArrowDown') return () => move(1);
  if (key === 'ArrowUp') return () => move(-1);
  if (key === 'ArrowRight') return () => moveActive(1);
  if (key === 'ArrowLeft') return () => moveActive(-1);
  if (key === 'Enter') return isCard ? write : undefined;
  if (!actions.hasSingleKeys()) return undefined;
  if (key === 'j' || key === 'k') return () => move(key === 'j' ? 1 : -1);
  if (/^[1-9]$/.test(key)) return () => choose(Number(key) - 1);
  return /^[ecsfnuoxa]$/.test(key) ? () => act(key) : undefined;
}
