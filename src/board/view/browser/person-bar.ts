import { Component, type ComponentChild, h } from 'preact';
import type { Board } from '../review/review-board.ts';
import { button } from '../shared/button.ts';
import { plainText } from '../shared/visible-text.ts';
import type { HostedConnection } from './hosted-connection.ts';

interface PersonBarProps {
  board: Board;
  connection: HostedConnection;
}

/** Draws the other projects that the person sees, and the way out, which asks once. */
export class PersonBar extends Component<PersonBarProps, { isAsking: boolean }> {
  override state = { isAsking: false };

  override render({ board, connection }: PersonBarProps, { isAsking }: { isAsking: boolean }): ComponentChild {
    const links = connection.otherProjects.map((project) =>
      h('a', { href: `?${new URLSearchParams({ project })}` }, plainText(project)),
    );
    const logOut = (): void => void connection.logOut().catch((error) => board.announceFailure(error));
    const ask = (asking: boolean) => (): void => this.setState({ isAsking: asking });
    const out = isAsking
      ? [
          h(
            'span',
            { role: 'alert' },
            'The link that brought you here works only once. To come back you need a password, your organization’s login or a new link.',
          ),
          button('Log out now', logOut, { class: 'quiet' }),
          button('Stay', ask(false), { class: 'quiet' }),
        ]
      : button('Log out', ask(true), { class: 'quiet' });
    return h('nav', { class: 'hosted', 'aria-label': 'Projects' }, links, out);
  }
}
