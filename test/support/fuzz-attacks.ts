import fc from 'fast-check';
import { classMembers } from '../../src/contract/objects.ts';
import { inheritedNames } from './inherited-names.ts';

/** Requests of one account, sent one after another, and what its model replies to all of them. */
export interface Attack {
  requests: { path: string; body: string }[];
  /** The body of every response of the model provider. */
  reply: string;
}

const repeated = (text: string, chars: number): string => text.repeat(Math.ceil(chars / text.length));
const listOf = (entry: string, chars: number): string => `[${repeated(`${entry},`, chars)}1]`;

/** Writes JSON of a number of characters, which may take many times as much memory. */
const heavyKinds: ((chars: number, name: string) => string)[] = [
  (chars) => listOf('{}', chars),
  (chars) => listOf('[]', chars),
  (chars, name) => listOf(`{${JSON.stringify(name)}:{}}`, chars),
  (chars) => listOf('0', chars),
  (chars) => listOf('0.12345678901234567891', chars),
  (chars) => listOf('"é"', chars),
  (chars, name) => `{${JSON.stringify(name)}:${listOf('null', chars)}}`,
  (chars) => `{${Array.from({ length: Math.ceil(chars / 12) }, (_, n) => `"m${n}":1`).join(',')}}`,
  (chars) => JSON.stringify(repeated('x', chars)),
  (chars) => JSON.stringify(repeated('{a}\0é\ud800', chars)),
  (chars) => `${repeated('[', Math.min(chars, 480))}${repeated(']', Math.min(chars, 480))}`,
  (chars) => `${repeated('{"a":', Math.min(chars, 2_400))}1${'}'.repeat(Math.ceil(Math.min(chars, 2_400) / 5))}`,
];

const size = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 200 }) },
  { weight: 3, arbitrary: fc.integer({ min: 200, max: 100_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100_000, max: 3_000_000 }) },
);
/** Generates names, also such as every object inherits. */
export const strangeName = fc.oneof(
  fc.constantFrom('a', 'question', 'op', ...inheritedNames),
  fc.string({ maxLength: 5 }),
);
const heavyJson = fc
  .tuple(fc.constantFrom(...heavyKinds), size, strangeName)
  .map(([write, chars, of]) => write(chars, of));
/** The same as the only member of an object. */
export const heavyObject = fc
  .tuple(strangeName, heavyJson)
  .map(([member, json]) => `{${JSON.stringify(member)}:${json}}`);

const path = fc.oneof(
  fc.constantFrom('inputs', 'output', 'summary', 'attributes', 'id', 'inputs.list'),
  strangeName.map((member) => `inputs.${member}`),
);
const operand = path.map((field) => ({ $getField: field }));
const operation = fc.oneof(
  fc.tuple(operand, fc.string({ maxLength: 30 }), fc.boolean()).map(([input, text, case_insensitive]) => ({
    $contains: { input, substr: { $literal: text }, case_insensitive },
  })),
  fc.tuple(operand, fc.constantFrom('string', 'double', 'bool', 'exists'), fc.string()).map(([input, to, text]) => ({
    $eq: [{ $convert: { input, to } }, { $literal: text }],
  })),
  fc.tuple(operand, fc.integer({ min: 1, max: 900 })).map(([input, count]) => ({
    $in: [input, Array.from({ length: count }, (_, at) => ({ $literal: `v${at}` }))],
  })),
);
const condition = fc
  .tuple(fc.array(operation, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 100 }), fc.boolean())
  .map(([list, times, all]) => ({ [all ? '$and' : '$or']: Array.from({ length: times }, () => list).flat() }));
const sortKeys = fc.array(fc.record({ field: path, direction: fc.constantFrom('asc' as const, 'desc' as const) }), {
  maxLength: 20,
});

/** Records a call of which every part is large, with feedback, and asks for it with conditions and sort keys. */
const onCalls = (project_id: string): fc.Arbitrary<Attack['requests']> =>
  fc
    .record({
      parts: fc.tuple(heavyObject, heavyJson, heavyObject),
      op: strangeName,
      condition,
      sortKeys,
      payload: heavyObject,
    })
    .map(({ parts: [inputs, output, usage], op, condition, sortKeys, payload }) => {
      const key = `"project_id":"${project_id}","id":"c"`;
      const start = `"trace_id":"t","started_at":"2026-01-01T00:00:00Z","attributes":${inputs},"inputs":${inputs}`;
      const end = `"ended_at":"2026-01-01T00:00:01Z","output":${output},"summary":{"usage":${usage}}`;
      const feedback = `"weave_ref":"weave:///${project_id}/call/c","feedback_type":"mood","payload":${payload}`;
      const $expr = condition;
      return [
        { path: '/call/start', body: `{"start":{${key},${start},"op_name":${JSON.stringify(op)}}}` },
        { path: '/call/end', body: `{"end":{${key},${end}}}` },
        { path: '/feedback/create', body: `{"project_id":"${project_id}",${feedback}}` },
        { path: '/calls/stream_query', body: JSON.stringify({ project_id, query: { $expr }, sort_by: sortKeys }) },
        { path: '/calls/stream_query', body: JSON.stringify({ project_id, include_feedback: true }) },
        { path: '/calls/query_stats', body: JSON.stringify({ project_id, query: { $expr } }) },
        { path: '/feedback/query', body: JSON.stringify({ project_id, query: { $expr } }) },
      ];
    });

/** Stores two large objects, and reads parts of them by references that alternate. */
const onObjects = (project_id: string): fc.Arbitrary<Attack['requests']> =>
  fc
    .record({
      values: fc.tuple(heavyObject, heavyObject),
      steps: fc.array(
        strangeName.map((step) => `attr/${encodeURIComponent(step.toWellFormed())}`),
        { maxLength: 3 },
      ),
      count: fc.integer({ min: 1, max: 1000 }),
    })
    .map(({ values, steps, count }) => {
      const refs = Array.from({ length: count }, (_, at) =>
        [
          `weave:///${project_id}/object/o${at % 2}:DIGEST${at % 2}`,
          ...steps,
          ...(at % 3 === 0 ? ['index', at] : []),
        ].join('/'),
      );
      return [
        ...values.map((val, at) => ({
          path: '/obj/create',
          body: `{"obj":{"project_id":"${project_id}","object_id":"o${at}","val":${val}}}`,
        })),
        { path: '/refs/read_batch', body: JSON.stringify({ refs }) },
        { path: '/objs/query', body: JSON.stringify({ project_id }) },
      ];
    });

/** Runs an evaluation with a judge, and asks for its results. */
const onRuns = (project_id: string): fc.Arbitrary<Attack['requests']> =>
  fc
    .record({
      rows: fc.array(heavyObject, { minLength: 1, maxLength: 4 }),
      model: strangeName,
      placeholder: strangeName,
      trials: fc.integer({ min: 1, max: 3 }),
      condition,
    })
    .map(({ rows, model, placeholder, trials, condition }) => {
      const reference = (id: string) => `weave:///${project_id}/object/${id}:latest`;
      const prompt = `{${placeholder}}`;
      const default_params = { messages_template: [{ role: 'user', content: prompt }], response_format: 'json_object' };
      const llmModel = { llm_model_id: model, default_params };
      const store = (object_id: string, val: object) => ({
        path: '/obj/create',
        body: JSON.stringify({ obj: { project_id, object_id, val } }),
      });
      const modelClass = classMembers('Model', 'LLMStructuredCompletionModel');
      const judge = {
        model: llmModel,
        scoring_prompt: `{output} ${prompt}`,
        column_map: { [placeholder]: placeholder },
      };
      const evaluation = { name: 'e', dataset: reference('d'), scorers: [reference('judge')], trials };
      return [
        { path: `/v2/${project_id}/datasets`, body: `{"name":"d","rows":[${rows.join(',')}]}` },
        store('m', { ...llmModel, ...modelClass }),
        store('judge', { ...judge, ...classMembers('Scorer', 'LLMAsAJudgeScorer') }),
        { path: `/v2/${project_id}/evaluations`, body: JSON.stringify(evaluation) },
        {
          path: '/evaluations/evaluate_model',
          body: JSON.stringify({ project_id, evaluation_ref: reference('e'), model_ref: reference('m') }),
        },
        {
          path: `/v2/${project_id}/eval_results/query`,
          body: JSON.stringify({
            evaluation_run_ids: ['RUN'],
            include_summary: true,
            include_raw_data_rows: true,
            resolve_row_refs: true,
            filters: [{ query: { $expr: condition } }],
          }),
        },
        { path: `/v2/${project_id}/eval_results/query`, body: JSON.stringify({ evaluation_run_ids: ['RUN'] }) },
        { path: '/calls/stream_query', body: JSON.stringify({ project_id }) },
      ];
    });

/** Records a run of another program, and asks for its results. */
const onRecordedRuns = (project_id: string): fc.Arbitrary<Attack['requests']> =>
  fc
    .record({ model: strangeName, scorer: strangeName, inputs: heavyObject, output: heavyJson })
    .map(({ model, scorer, inputs, output }) => {
      const base = `/v2/${project_id}`;
      const run = `"evaluation_run_id":"RUN"`;
      return [
        {
          path: `${base}/evaluation_runs`,
          body: JSON.stringify({ evaluation: `weave:///${project_id}/object/e:x`, model }),
        },
        {
          path: `${base}/predictions`,
          body: `{"model":${JSON.stringify(model)},"inputs":${inputs},"output":${output},${run}}`,
        },
        {
          path: `${base}/scores`,
          body: `{"prediction_id":"PREDICTION","scorer":${JSON.stringify(scorer)},"value":1,${run}}`,
        },
        { path: `${base}/predictions/PREDICTION/finish`, body: '{}' },
        { path: `${base}/evaluation_runs/RUN/finish`, body: `{"summary":${inputs}}` },
        {
          path: `${base}/eval_results/query`,
          body: JSON.stringify({ evaluation_run_ids: ['RUN'], include_summary: true }),
        },
      ];
    });

/** Bodies of a model provider: replies whose content or usage is hostile, errors, and text that is nested too deep. */
const reply: fc.Arbitrary<string> = fc.oneof(
  fc.tuple(heavyJson, heavyObject).map(([content, usage]) => {
    const text = content.length > 100_000 ? '"long"' : JSON.stringify(content);
    return `{"choices":[{"message":{"content":${text}}}],"usage":${usage}}`;
  }),
  heavyJson.map(
    (content) => `{"choices":[{"message":{"content":${content}}}],"usage":{"__proto__":{"a":1},"total_tokens":1}}`,
  ),
  fc
    .integer({ min: 390, max: 20_000 })
    .map((levels) => `{"choices":[{"message":{"content":${'['.repeat(levels)}${']'.repeat(levels)}}}]}`),
  fc.integer({ min: 390, max: 20_000 }).map((levels) => {
    const content = JSON.stringify(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    return `{"choices":[{"message":{"content":${content}}}]}`;
  }),
  heavyJson.map((message) => `{"error":{"message":${message}}}`),
  fc.constantFrom(
    '{"choices":[{"message":{"content":"a\\u0000b\\ud800"}}]}',
    '{"choices":[{"message":{"content":"{\\"a\\":1}"}}]}',
  ),
);

/** Generates the requests of one account to a project of its own. `RUN` and `PREDICTION` stand for the ids that the service returns. */
export function attackOn(project_id: string): fc.Arbitrary<Attack> {
  const requests = fc.oneof(...[onCalls, onObjects, onRuns, onRecordedRuns].map((shape) => shape(project_id)));
  return fc.record({ requests, reply });
}
