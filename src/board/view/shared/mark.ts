import { type ComponentChild, h } from 'preact';

/** Draws the mark of heddle: wires with eyes, and the thread that goes through. */
export function mark(): ComponentChild {
  const wires = [7, 12, 17].map((x) => `M${x} 2v6m0 8v6m0-14a2.2 4 0 0 1 0 8a2.2 4 0 0 1 0-8`).join('');
  return h(
    'svg',
    { class: 'mark', viewBox: '0 0 24 24', 'aria-hidden': 'true' },
    h('path', { d: wires }),
    h('path', { class: 'thread', d: 'M2 13c3 0 4-2.5 7-2s4 2.5 7 2s4-2.5 6-2.5' }),
  );
}
