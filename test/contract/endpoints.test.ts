import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';

it('says which operations are sent again only if the service certainly did not run them', () => {
  const unrepeatable = Object.entries(endpoints).filter(([, { repeatable }]) => !repeatable);
  expect(unrepeatable.map(([name]) => name).sort()).toEqual([
    'claimQueueItems',
    'createCosts',
    'createEvaluation',
    'createEvaluationRun',
    'createPrediction',
    'createQueue',
    'createScore',
    'deleteObject',
    'deleteQueue',
    'evaluateModel',
    'replaceFeedback',
    'rescoreEvaluation',
    'resumeEvaluation',
    'runInference',
    'scoreCalls',
    'startCall',
    'startCallInProject',
    'tryScorer',
  ]);
});

it('has no operation that docs/interface.md does not list', () => {
  const document = readFileSync(new URL('../../docs/interface.md', import.meta.url), 'utf8');
  const unlisted = Object.values<{ method: string; path: string }>(endpoints)
    // The rest of a path that may be anything has another name in each row.
    .map(({ method, path }) => `\`${method} ${path.endsWith('{path*}') ? path.slice(0, -7) : `${path}\``}`)
    .filter((row) => !document.includes(row));
  expect(unlisted).toEqual([]);
});
