import { connectToBoardServer } from '../shared/browser-host.ts';
import { connectToChat } from '../shared/chat-host.ts';
import { evaluationPage } from './evaluation-page.ts';
import { EvaluationView } from './evaluation-view.ts';

const connect = window.parent === window ? connectToBoardServer : connectToChat;
new EvaluationView(document.querySelector('main')!, evaluationPage, connect);
