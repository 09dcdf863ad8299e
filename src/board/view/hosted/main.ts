import { type ComponentChild, h } from 'preact';
import { boardPage } from '../review/board-page.ts';
import { Board } from '../review/review-board.ts';
import { button } from '../shared/button.ts';
import { plainText } from '../shared/visible-text.ts';
import { HostedConnection } from './hosted-connection.ts';

const connection = new HostedConnection();

/** Draws the other projects that the person sees, and the way out. */
function personBar(board: Board): ComponentChild {
  const links = connection.otherProjects.map((project) =>
    h('a', { href: `?${new URLSearchParams({ project })}` }, plainText(project)),
  );
  const logOut = (): void => void connection.logOut().catch((error) => board.announceFailure(error));
  return h('nav', { class: 'hosted', 'aria-label': 'Projects' }, links, button('Log out', logOut, { class: 'quiet' }));
}

new Board(
  document.querySelector('main')!,
  (board) => [personBar(board), ...boardPage(board)],
  (events) => connection.connect(events),
);
