import { Component } from 'preact';

/**
 * A component that is drawn again only when one of its properties has changed. Functions do not count:
 * handlers must do the same whenever they are called.
 */
export abstract class PureComponent<Props extends object> extends Component<Props> {
  override shouldComponentUpdate(next: Readonly<Props>): boolean {
    const names = Object.keys(next) as (keyof Props)[];
    return names.some((name) => typeof next[name] !== 'function' && next[name] !== this.props[name]);
  }
}
