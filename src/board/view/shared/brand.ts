import { type ComponentChild, h } from 'preact';

/** Draws the mark and the name of heddle, for pages outside of a chat. */
export function brand(): ComponentChild {
  return h('span', { class: 'brand' }, h('b', {}, 'heddle'));
}
