import { evaluationPage } from './evaluation-page.ts';
import { EvaluationView } from './evaluation-view.ts';

new EvaluationView(document.querySelector('main')!, evaluationPage);
