import { EvaluationView } from './evaluation-view.ts';

new EvaluationView(document.querySelector('main')!);
