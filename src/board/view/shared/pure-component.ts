import { Component } from 'preact';

/**
 * A component that is drawn again only when its state or one of its properties has changed. Functions do not count:
 * handlers must do the same whenever they are called.
 */
export abstract class PureComponent<Props extends object, State = object> extends Component<Props, State> {
  override shouldComponentUpdate(next: Readonly<Props>, state: Readonly<State>): boolean {
    const names = Object.keys(next) as (keyof Props)[];
    return (
      state !== this.state || names.some((name) => typeof next[name] !== 'function' && next[name] !== this.props[name])
    );
  }
}
