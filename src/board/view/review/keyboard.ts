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
 * Listens to the keys of the cards. A key that is pressed elsewhere on the page goes to the current card.
 * @param hasSingleKeys false if letters and digits must do nothing, because people who speak to their computer cause them.
 */
export function listenToKeys(feed: HTMLElement, hasSingleKeys: () => boolean, actions: KeyActions): void {
  feed.addEventListener('keydown', (event) => {
    if (isForOthers(event)) return;
    const target = event.target as HTMLElement;
    if (event.key === 'Escape') {
      target.closest<HTMLElement>('article')?.focus();
      return;
    }
    if (isTextControl(target)) return;
    const action = actionFor(event.key, target.tagName === 'ARTICLE', hasSingleKeys(), actions);
    if (!action) return;
    event.preventDefault();
    action();
  });
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    const current = feed.querySelector<HTMLElement>('article[tabindex="0"]') ?? feed.querySelector('article');
    if (!current || isForOthers(event) || feed.contains(target) || isTextControl(target)) return;
    // On a control outside of the cards, arrows scroll the page.
    if (event.key in arrows && target !== document.body) return;
    const action = actionFor(event.key, false, hasSingleKeys(), actions);
    if (!action) return;
    event.preventDefault();
    current.focus();
    // The first move only shows which card is the current one.
    if (!/^(Arrow|[jk]$)/.test(event.key)) action();
  });
}

function isForOthers({ altKey, metaKey, ctrlKey, defaultPrevented }: KeyboardEvent): boolean {
  return altKey || metaKey || ctrlKey || defaultPrevented;
}

/** Returns whether a control uses letters and digits itself, such as a box for text. */
function isTextControl(node: HTMLElement): boolean {
  return /^(INPUT|SELECT|TEXTAREA)$/.test(node.tagName) && (node as HTMLInputElement).type !== 'checkbox';
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
