import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import { ownMember } from '../../../core/json/member-at.ts';
import {
  type FileFormat,
  filledMembers,
  type ImportedCall,
  judgedValueOf,
  namedInputs,
  numberOf,
  optionalText,
  parsedCell,
  restOf,
  tagsOf,
  timeAfter,
  timeOf,
  usageOf,
} from './imported-call.ts';

/** Traces, observations and scores of Langfuse: from its interface, its API (camel case) or a blob storage (snake case). */
export const langfuseFormats: readonly FileFormat[] = [
  {
    name: 'Langfuse scores',
    matches: (row) =>
      hasAll(row, ['name', 'source', 'value']) &&
      hasAny(row, ['traceId', 'trace_id']) &&
      hasAny(row, ['dataType', 'data_type']),
    convert: (row) => {
      const score = snakeCase(row);
      const feedbackOn = optionalText(score.observation_id) ?? optionalText(score.trace_id);
      return feedbackOn === undefined ? [] : [{ feedbackOn, ...feedbackOf([score]) }];
    },
  },
  {
    name: 'Langfuse observations',
    matches: (row) =>
      hasAll(row, ['id', 'type']) && hasAny(row, ['startTime', 'start_time']) && hasAny(row, ['traceId', 'trace_id']),
    convert: (row) => [observation(snakeCase(row))],
  },
  {
    name: 'Langfuse traces',
    matches: (row) =>
      hasAll(row, ['id', 'timestamp', 'tags']) &&
      hasAny(row, ['sessionId', 'session_id']) &&
      hasAny(row, ['userId', 'user_id']),
    convert: (row) => {
      const { observations, scores, ...rest } = row;
      const steps = listOf(observations)
        .filter(isJsonObject)
        .map((step) => observation(snakeCase(step)));
      // A file from the interface has a column for each score.
      const flat = isJsonObject(scores) ? scores : {};
      const given = listOf(scores).filter(isJsonObject).map(snakeCase);
      const call = trace(snakeCase(rest), flat);
      const ofCall = (id: string | undefined): Members[] =>
        given.filter((score) => (optionalText(score.observation_id) ?? call.id) === id);
      return [
        { ...call, ...feedbackOf(ofCall(call.id), call.scores) },
        ...steps.map((step) => ({ ...step, parentId: step.parentId ?? call.id, ...feedbackOf(ofCall(step.id)) })),
      ];
    },
  },
  {
    name: 'Langfuse dataset items',
    matches: (row) => hasAll(row, ['input', 'expectedOutput', 'datasetId']),
    convert: (row) => [
      {
        id: optionalText(row.id),
        opName: optionalText(row.datasetName) ?? 'dataset',
        startedAt: timeOf(row.createdAt),
        inputs: { ...namedInputs(row.input), expected_output: parsedCell(row.expectedOutput) ?? null },
        attributes: filledMembers({
          metadata: parsedCell(row.metadata),
          langfuse: restOf(row, ['id', 'input', 'expectedOutput', 'metadata', 'createdAt']),
        }),
      },
    ],
  },
];

const hasAll = (row: Members, names: readonly string[]): boolean => names.every((name) => Object.hasOwn(row, name));
const hasAny = (row: Members, names: readonly string[]): boolean => names.some((name) => Object.hasOwn(row, name));

/** Returns a row with its own names in snake case, as blob storages have them. Score columns keep theirs. */
function snakeCase(row: Members): Members {
  const isKnown = (name: string): boolean => /^[a-z]+([A-Z][a-z]+)+$/.test(name);
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      isKnown(name) ? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name,
      value,
    ]),
  );
}

/** Members of traces that have a place of their own, or that say nothing about the call. */
const traceMembers = ['id', 'timestamp', 'name', 'input', 'output', 'metadata', 'tags', 'session_id', 'user_id'];
/** Further members of traces in a file of the interface; any other that holds a list is a score. */
const traceFacts = [
  ...['environment', 'release', 'version', 'bookmarked', 'public', 'latency', 'usage', 'input_cost', 'output_cost'],
  ...['total_cost', 'level', 'error_count', 'warning_count', 'default_count', 'debug_count', 'observation_count'],
  ...[
    'input_tokens',
    'output_tokens',
    'total_tokens',
    'comments',
    'project_id',
    'created_at',
    'updated_at',
    'html_path',
  ],
  ...['external_id', 'is_deleted', 'event_ts', 'usage_details', 'cost_details', 'observations', 'scores'],
];

function trace(row: Members, scores: Members): ImportedCall {
  const startedAt = timeOf(row.timestamp);
  const known = [...traceMembers, ...traceFacts];
  const columns = Object.entries(row).filter(
    ([name, value]) => !known.includes(name) && Array.isArray(parsedCell(value)),
  );
  const usage = objectOrEmpty(parsedCell(row.usage));
  return {
    id: optionalText(row.id),
    opName: optionalText(row.name) ?? 'trace',
    traceId: optionalText(row.id),
    threadId: optionalText(row.session_id),
    startedAt,
    endedAt: timeAfter(startedAt, numberOf(row.latency)),
    inputs: namedInputs(row.input),
    output: parsedCell(row.output),
    exception: row.level === 'ERROR' ? 'error' : undefined,
    usage: usageOf(
      undefined,
      usage.promptTokens ?? usage.input ?? row.input_tokens,
      usage.completionTokens ?? usage.output ?? row.output_tokens,
      usage.totalTokens ?? usage.total ?? row.total_tokens,
    ),
    attributes: filledMembers({
      tags: tagsOf(row.tags),
      metadata: parsedCell(row.metadata),
      user_id: optionalText(row.user_id),
      session_id: optionalText(row.session_id),
      langfuse: restOf(row, [...traceMembers, 'usage', ...columns.map(([name]) => name)]),
    }),
    scores: [...Object.entries(scores), ...columns].flatMap(([scorer, value]) => {
      const values = listOf(parsedCell(value));
      return values.length === 0 ? [] : [{ scorer, value: judgedValueOf(values.length === 1 ? values[0] : values) }];
    }),
  };
}

const observationMembers = [
  ...[
    'id',
    'trace_id',
    'parent_observation_id',
    'type',
    'name',
    'start_time',
    'end_time',
    'input',
    'output',
    'metadata',
  ],
  ...['model', 'provided_model_name', 'status_message', 'usage', 'usage_details', 'tags', 'session_id', 'user_id'],
];

function observation(row: Members): ImportedCall {
  const details = objectOrEmpty(parsedCell(row.usage_details));
  const usage = objectOrEmpty(parsedCell(row.usage));
  const pick = (name: string, column: unknown): unknown => ownMember(details, name) ?? ownMember(usage, name) ?? column;
  const isError = row.level === 'ERROR';
  return {
    id: optionalText(row.id),
    opName: optionalText(row.name) ?? String(row.type).toLowerCase(),
    traceId: optionalText(row.trace_id),
    parentId: optionalText(row.parent_observation_id) ?? optionalText(row.trace_id),
    isStep: true,
    threadId: optionalText(row.session_id),
    startedAt: timeOf(row.start_time),
    endedAt: timeOf(row.end_time),
    inputs: namedInputs(row.input),
    output: parsedCell(row.output),
    exception: isError ? (optionalText(row.status_message) ?? 'error') : undefined,
    usage: usageOf(
      row.model ?? row.provided_model_name,
      pick('input', row.input_tokens ?? usage.promptTokens),
      pick('output', row.output_tokens ?? usage.completionTokens),
      pick('total', row.total_tokens ?? usage.totalTokens),
    ),
    attributes: filledMembers({
      kind: String(row.type).toLowerCase(),
      model: optionalText(row.model) ?? optionalText(row.provided_model_name),
      tags: tagsOf(row.tags),
      metadata: parsedCell(row.metadata),
      user_id: optionalText(row.user_id),
      session_id: optionalText(row.session_id),
      langfuse: restOf(row, observationMembers),
    }),
  };
}

/** Returns the scores that people gave as judgements, with their comments as notes, and the others as scores. */
function feedbackOf(
  scores: readonly Members[],
  others: ImportedCall['scores'] = [],
): Pick<ImportedCall, 'judgements' | 'notes' | 'scores'> {
  const byPeople = scores.filter(({ source }) => source === 'ANNOTATION');
  const at = (score: Members) => timeOf(score.timestamp ?? score.created_at);
  const annotator = (score: Members) => optionalText(score.author_user_id) ?? 'langfuse';
  return {
    judgements: byPeople.map((score) => ({
      field: String(score.name),
      value: scoreValue(score),
      annotator: annotator(score),
      judged_at: at(score),
    })),
    notes: byPeople.flatMap((score) => {
      const note = optionalText(score.comment);
      return note === undefined ? [] : [{ note, annotator: annotator(score), judged_at: at(score) }];
    }),
    scores: [
      ...others,
      ...scores
        .filter((score) => !byPeople.includes(score))
        .map((score) => ({
          scorer: String(score.name),
          value: scoreValue(score),
          comment: optionalText(score.comment),
          judged_at: at(score),
        })),
    ],
  };
}

function scoreValue({ data_type, value, string_value }: Members): unknown {
  if (data_type === 'BOOLEAN') return numberOf(value) === 1;
  return data_type === 'CATEGORICAL' ? (optionalText(string_value) ?? value) : (numberOf(value) ?? value);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
