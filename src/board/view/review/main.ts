import { connectToChat } from '../shared/chat-host.ts';
import { boardPage } from './board-page.ts';
import { Board } from './review-board.ts';

new Board(document.querySelector('main')!, (board) => boardPage(board), connectToChat);
