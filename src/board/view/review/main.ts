import { Board } from './board.ts';
import { boardPage } from './board-page.ts';

new Board(document.querySelector('main')!, boardPage);
