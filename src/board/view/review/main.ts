import { connectToBoardServer } from '../shared/browser-host.ts';
import { connectToChat } from '../shared/chat-host.ts';
import { Board } from './board.ts';

const connect = window.parent === window ? connectToBoardServer : connectToChat;
new Board(document.querySelector('main')!, connect);
