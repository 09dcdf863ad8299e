interface DrawnNode {
  type: unknown;
  props: { children?: unknown } & Record<string, unknown>;
}

/** Writes what a View draws as HTML with the classes of its elements. Components are drawn as they are at first. */
export function drawnHtml(drawn: unknown): string {
  if (drawn === null || drawn === undefined || typeof drawn === 'boolean') return '';
  if (Array.isArray(drawn)) return drawn.map(drawnHtml).join('');
  if (typeof drawn !== 'object') return String(drawn);
  const { type, props } = drawn as DrawnNode;
  if (typeof type === 'function') {
    const Component = type as new (
      given: object,
    ) => { state: unknown; render: (props: object, state: unknown) => unknown };
    const component = new Component(props);
    return drawnHtml(component.render(props, component.state));
  }
  const className = props.class === undefined ? '' : ` class="${props.class}"`;
  return `<${type}${className}>${drawnHtml(props.children)}</${type}>`;
}
