import { type ComponentChild, type ComponentChildren, h, type TargetedEvent } from 'preact';

/** Returns a button with a label; `key` says its shortcut. */
export function button(
  label: ComponentChildren,
  onClick: (event: TargetedEvent<HTMLButtonElement>) => void,
  { key, ...attributes }: { key?: string; class?: string; [attribute: string]: string | boolean | undefined } = {},
): ComponentChild {
  const shortcut = key !== undefined && key !== label && h('kbd', { 'aria-hidden': 'true' }, key);
  return h('button', { type: 'button', onClick, 'aria-keyshortcuts': key, ...attributes }, label, shortcut);
}
