type Attribute = string | number | boolean | undefined | ((event: never) => void);
type Child = Node | string | undefined | false;

/**
 * Creates an element. An attribute that is true is set without a value; one that is false or undefined is left out; a
 * function listens to the event that its name says, like `onclick`.
 */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  node.append(...children.filter((child) => child !== undefined && child !== false));
  return node;
}

/** Sets an attribute as {@link element} does, without touching the page if it already has the value. */
export function setAttribute(node: Element, name: string, value: Attribute): void {
  if (typeof value === 'function') node.addEventListener(name.slice(2), value as EventListener);
  else if (value === undefined || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value === true ? '' : value)) {
    node.setAttribute(name, value === true ? '' : String(value));
  }
}

/** Sets the text of an element, unless it has that text: screen readers announce every change of a live region. */
export function setText(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Returns a button. `key` names its shortcut. */
export function button(
  label: string,
  onclick: () => void,
  attributes: Record<string, Attribute> = {},
): HTMLButtonElement {
  return element('button', { type: 'button', onclick, ...attributes }, label);
}
