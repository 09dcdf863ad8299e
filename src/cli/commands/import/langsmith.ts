import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import {
  type FileFormat,
  filledMembers,
  type ImportedCall,
  judgedValueOf,
  namedInputs,
  optionalText,
  parsedCell,
  restOf,
  tagsOf,
  timeOf,
  usageOf,
} from './imported-call.ts';

/** Runs, feedback and examples of datasets of LangSmith. */
export const langsmithFormats: readonly FileFormat[] = [
  {
    name: 'LangSmith runs',
    matches: (row) => 'run_type' in row && 'start_time' in row && 'inputs' in row,
    convert: (row) => [run(row)],
  },
  {
    name: 'LangSmith feedback',
    matches: (row) => 'run_id' in row && 'key' in row && ('score' in row || 'value' in row) && !('run_type' in row),
    convert: (row) => {
      const feedbackOn = optionalText(row.run_id);
      return feedbackOn === undefined ? [] : [{ feedbackOn, ...feedbackOf([row]) }];
    },
  },
  {
    name: 'LangSmith examples',
    matches: (row) =>
      'inputs' in row && 'outputs' in row && ('dataset_id' in row || 'source_run_id' in row || 'split' in row),
    convert: (row) => [
      {
        id: optionalText(row.id),
        opName: optionalText(row.dataset_name) ?? 'dataset',
        startedAt: timeOf(row.created_at),
        inputs: namedInputs(row.inputs),
        output: parsedCell(row.outputs),
        attributes: filledMembers({
          metadata: parsedCell(row.metadata),
          langsmith: restOf(row, ['id', 'inputs', 'outputs', 'metadata', 'created_at']),
        }),
      },
    ],
  },
];

const runMembers = [
  ...[
    'id',
    'run_id',
    'name',
    'trace_id',
    'parent_run_id',
    'start_time',
    'end_time',
    'inputs',
    'outputs',
    'error',
    'extra',
  ],
  ...[
    'tags',
    'prompt_tokens',
    'completion_tokens',
    'total_tokens',
    'feedback_stats',
    'feedback',
    'run_type',
    'session_name',
  ],
  ...['serialized', 'inputs_preview', 'outputs_preview', 'events', 'child_runs'],
];

function run(row: Members): ImportedCall {
  const extra = objectOrEmpty(parsedCell(row.extra));
  const metadata = objectOrEmpty(extra.metadata ?? parsedCell(row.metadata));
  const invocationParams = objectOrEmpty(extra.invocation_params);
  const model = metadata.ls_model_name ?? invocationParams.model ?? invocationParams.model_name;
  const feedback = parsedCell(row.feedback);
  const given = Array.isArray(feedback) ? feedbackOf(feedback.filter(isJsonObject)) : {};
  return {
    id: optionalText(row.id) ?? optionalText(row.run_id),
    opName: optionalText(row.name) ?? String(row.run_type),
    traceId: optionalText(row.trace_id),
    parentId: optionalText(row.parent_run_id),
    isStep: true,
    threadId: optionalText(metadata.thread_id ?? metadata.session_id ?? metadata.conversation_id),
    startedAt: timeOf(row.start_time),
    endedAt: timeOf(row.end_time),
    inputs: namedInputs(row.inputs),
    output: parsedCell(row.outputs),
    exception: optionalText(row.error),
    usage: usageOf(model, row.prompt_tokens, row.completion_tokens, row.total_tokens),
    attributes: filledMembers({
      kind: optionalText(row.run_type),
      model: optionalText(model),
      tags: tagsOf(row.tags),
      metadata,
      langsmith: restOf(row, runMembers),
    }),
    ...given,
    // The figures of feedback repeat the feedback itself.
    scores: given.scores ?? statisticsOf(parsedCell(row.feedback_stats)),
  };
}

function statisticsOf(stats: unknown): ImportedCall['scores'] {
  return Object.entries(objectOrEmpty(stats)).flatMap(([scorer, stat]) => {
    const { avg, values } = objectOrEmpty(stat);
    const [only, ...others] = Object.keys(objectOrEmpty(values));
    const value = avg ?? (others.length === 0 ? only : values);
    return value === undefined || value === null ? [] : [{ scorer, value }];
  });
}

/** Returns the feedback that people gave in the application as judgements, and that of programs and models as scores. */
function feedbackOf(list: readonly Members[]): Pick<ImportedCall, 'judgements' | 'notes' | 'scores'> {
  const all = list.map((feedback) => {
    const source = objectOrEmpty(parsedCell(feedback.feedback_source));
    const value = optionalText(feedback.value) === undefined ? feedback.score : feedback.value;
    const author =
      optionalText(source.user_name) ?? optionalText(source.user_id) ?? optionalText(feedback.user_id) ?? 'langsmith';
    return {
      name: String(feedback.key),
      value: judgedValueOf(value),
      comment: optionalText(feedback.comment),
      judged_at: timeOf(feedback.created_at),
      annotator: source.type === 'app' || source.type === undefined ? author : undefined,
    };
  });
  const hasValue = ({ value }: { value: unknown }): boolean => value !== null && value !== undefined && value !== '';
  return {
    judgements: all.flatMap(({ name: field, value, annotator, judged_at }) =>
      annotator === undefined || !hasValue({ value }) ? [] : [{ field, value, annotator, judged_at }],
    ),
    notes: all.flatMap(({ comment: note, annotator, judged_at }) =>
      annotator === undefined || note === undefined ? [] : [{ note, annotator, judged_at }],
    ),
    scores: all.flatMap(({ name: scorer, value, comment, annotator, judged_at }) =>
      annotator !== undefined || !hasValue({ value }) ? [] : [{ scorer, value, comment, judged_at }],
    ),
  };
}
