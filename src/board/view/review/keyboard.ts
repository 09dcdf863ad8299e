/** The actions of the keys; each acts on the current card. */
interface KeyActions {
  hasSingleKeys: () => boolean;
  move: (by: number) => void;
  moveActive: (by: number) => void;
  /** Gives the value with this key to the active field. */
  choose: (key: string) => void;
  /** Writes, or goes on from an item that waits for it. */
  enter: () => void;
  /** Takes the last decision back, wherever it was made. */
  takeBack: () => void;
  /** Takes one of the letters of {@link shortcuts}. */
  act: (key: string) => void;
  /** Says why a letter did nothing. */
  refuse: () => void;
}

/** The keys and what they do, for people. */
const shortcuts: readonly (readonly [string, string])[] = [
  ['↑ ↓', 'previous or next item (also k, j)'],
  ['← →', 'previous or next field'],
  ['0–9', 'give the value with this key'],
  ['e', 'write into the field'],
  ['c', 'accept the suggestions'],
  ['s', 'skip: someone else gets the item'],
  ['f', 'finish without the missing values'],
  ['n', 'note, or the reason in a dispute'],
  ['u', 'take back the last decision (also Ctrl+Z)'],
  ['o', 'all judgements'],
  ['l', 'list, or one item at a time'],
  ['x', 'select'],
  ['a', 'select all'],
  ['Enter', 'write what is decided'],
  ['Esc', 'back to the item'],
];

/** Returns the keys to list: those in `used`, and those that always do something. */
export function shortcutsFor(used: string): (readonly [string, string])[] {
  return shortcuts.filter(([key]) => used.includes(key) || !/^([ecsfoxa]|← →|0–9)$/.test(key));
}

/** Listens to the keys of the cards. A key that is pressed elsewhere on the page goes to the current card. */
export function listenToKeys(actions: KeyActions): void {
  /** The control that has the focus because of the mouse. */
  let clicked: Element | null;
  document.addEventListener('click', ({ detail }) => {
    const { activeElement, body } = document;
    // A button that is pressed with the keyboard is clicked zero times.
    clicked = detail > 0 && activeElement !== body ? activeElement : null;
  });
  document.addEventListener('keydown', (event) => {
    const { key, altKey, shiftKey, repeat, defaultPrevented } = event;
    const isWithControl = event.metaKey || event.ctrlKey;
    const isUndo = isWithControl && !shiftKey && key.toLowerCase() === 'z';
    if (altKey || (isWithControl && !isUndo) || defaultPrevented) return;
    const target = event.target as HTMLElement;
    const card = target.closest('article');
    const current = card ?? document.querySelector<HTMLElement>('article[tabindex="0"]');
    const isMove = /^(Arrow|[jk]$)/.test(key);
    if (key === 'Escape') current?.focus();
    // On a control outside of the cards, arrows scroll the page.
    const isForPage = current !== null && !card && target !== document.body && key.startsWith('Arrow');
    if (key === 'Escape' || isForPage || isTextControl(target)) return;
    const action = isUndo ? actions.takeBack : actionFor(key, target === card, actions);
    if (!action || !document.querySelector('article, .end')) return;
    event.preventDefault();
    // A key that is held down by mistake must not decide.
    if (repeat && !isMove) return;
    // Whoever has clicked something may be writing, and mean it.
    if (/^[acfjklsux]$/.test(key) && !isUndo && target === clicked && target !== card) return actions.refuse();
    if (!card) current?.focus();
    // In a list, the first move only shows which card is the current one.
    if (card || !current || !isMove || current.classList.contains('alone')) action();
  });
}

/** Returns whether a control takes text, or opens the box of a note. */
function isTextControl(node: HTMLElement): boolean {
  if (node.closest('.note')) return true;
  return /^(INPUT|SELECT|TEXTAREA)$/.test(node.tagName) && (node as HTMLInputElement).type !== 'checkbox';
}

/** @param isCard true if the card itself has the focus: on a button, Enter presses that button. */
function actionFor(key: string, isCard: boolean, actions: KeyActions): (() => void) | undefined {
  const { move, moveActive, choose, enter, takeBack, act } = actions;
  if (key === 'ArrowDown') return () => move(1);
  if (key === 'ArrowUp') return () => move(-1);
  if (key === 'ArrowRight') return () => moveActive(1);
  if (key === 'ArrowLeft') return () => moveActive(-1);
  if (key === 'Enter') return isCard ? enter : undefined;
  if (!actions.hasSingleKeys()) return undefined;
  if (key === 'j' || key === 'k') return () => move(key === 'j' ? 1 : -1);
  if (/^[0-9]$/.test(key)) return () => choose(key);
  if (key === 'u') return takeBack;
  return /^[ecsfnoxal]$/.test(key) ? () => act(key) : undefined;
}
