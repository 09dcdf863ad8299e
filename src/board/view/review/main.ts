import { Board } from './board.ts';

new Board(document.querySelector('main')!);
