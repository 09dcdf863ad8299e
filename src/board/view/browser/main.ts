import { type ComponentChild, h } from 'preact';
import { boardPage } from '../review/board-page.ts';
import type { Board } from '../review/review-board.ts';
import { brand } from '../shared/brand.ts';
import { connectToBoardServer } from '../shared/browser-host.ts';
import { BrowserBoard } from './browser-board.ts';
import { HostedConnection } from './hosted-connection.ts';
import { PersonBar } from './person-bar.ts';
import { ProgressTable } from './progress-table.ts';
import { queueTable, refusal } from './queue-table.ts';

// A command on this machine serves the page at the root.
const connection = location.pathname.startsWith('/board') ? new HostedConnection() : undefined;

function page(board: Board): ComponentChild[] {
  const { page, queues } = board.state;
  const choice = connection?.isRefused ? refusal() : !page && queues && queueTable(board, queues);
  return [
    connection && h(PersonBar, { board, connection }),
    ...boardPage(board, { brand: brand(), choice, tools: page && h(ProgressTable, { board }) }),
  ];
}

new BrowserBoard(
  document.querySelector('main')!,
  page,
  (events) => connection?.connect(events) ?? connectToBoardServer(events),
);
