import { expect, it } from 'vitest';
import { endpoints } from '../../src/contract/endpoints.ts';

it('says which operations are sent again only if the service certainly did not run them', () => {
  const unrepeatable = Object.entries(endpoints).filter(([, { repeatable }]) => !repeatable);
  expect(unrepeatable.map(([name]) => name).sort()).toEqual([
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
    'runInference',
    'startCall',
    'startCallInProject',
  ]);
});
