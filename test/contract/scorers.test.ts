import { describe, expect, it } from 'vitest';
import { parseLlmModel, parseScorer } from '../../src/contract/scorers.ts';

const judge = {
  _type: 'LLMAsAJudgeScorer',
  _class_name: 'LLMAsAJudgeScorer',
  _bases: ['Scorer', 'Object', 'BaseModel'],
  name: null,
  description: null,
  column_map: null,
  model: 'weave:///acme/support/object/judge:abc',
  scoring_prompt: 'Inputs: {inputs}. Output: {output}. Is it right?',
  score: 'weave:///acme/support/op/LLMAsAJudgeScorer.score:abc',
};

describe('parseScorer', () => {
  it('reads a judge as the SDK stores it', () => {
    expect(parseScorer(judge)).toEqual({ type: 'judge', scorer: judge });
  });

  it('reads a comparison', () => {
    const scorer = {
      _class_name: 'HeddleScorer',
      name: 'Right',
      kind: 'number_within',
      expected: 'total',
      tolerance: 0.5,
    };
    expect(parseScorer(scorer)).toEqual({ type: 'comparison', scorer });
  });

  it.each([
    ['a class that heddle does not know', { ...judge, _class_name: 'ValidJSONScorer' }],
    ['a kind that heddle does not know', { _class_name: 'HeddleScorer', kind: 'rouge' }],
    ['a comparison that lacks its column', { _class_name: 'HeddleScorer', kind: 'equals' }],
    ['an object without a class', { kind: 'equals', expected: 'answer' }],
    ['a value that is not an object', null],
  ])('returns undefined for %s', (_, val) => {
    expect(parseScorer(val)).toBeUndefined();
  });
});

describe('parseLlmModel', () => {
  it('reads a model as the SDK stores it', () => {
    const model = {
      _class_name: 'LLMStructuredCompletionModel',
      name: null,
      llm_model_id: 'gpt-4o-mini',
      default_params: {
        messages_template: [{ role: 'system', content: 'Judge.', name: null, function_call: null }],
        prompt: null,
        stop: null,
        response_format: 'json_object',
      },
    };
    expect(parseLlmModel(model)).toEqual(model);
  });

  it('returns undefined for an object of another class', () => {
    expect(parseLlmModel({ _class_name: 'Model', llm_model_id: 'gpt-4o-mini' })).toBeUndefined();
  });
});
