import { isJsonObject, type Members, objectOrEmpty } from '../../../core/json/json-object.ts';
import { ownMember } from '../../../core/json/member-at.ts';
import {
  type FileFormat,
  filledMembers,
  type ImportedCall,
  judgedValueOf,
  numberOf,
  optionalText,
  timeAfter,
  timeOf,
  usageOf,
} from './imported-call.ts';

/** Results of promptfoo: the file of an evaluation, lines of results, or the table as CSV. */
export const promptfooFormats: readonly FileFormat[] = [
  {
    name: 'promptfoo results',
    matches: (row) => isJsonObject(row.vars) && 'success' in row && ('provider' in row || 'response' in row),
    convert: (row, around) => [result(row, around)],
  },
  {
    name: 'promptfoo table',
    matches: (row) => 'Status' in row && 'Score' in row && 'Grader Reason' in row,
    convert: (row) => tableRow(row),
  },
];

function result(row: Members, around: Members): ImportedCall {
  const evaluation = objectOrEmpty(around.results);
  const response = objectOrEmpty(row.response);
  const provider = objectOrEmpty(row.provider);
  const providerId = optionalText(provider.id) ?? optionalText(row.provider);
  const tokens = objectOrEmpty(row.tokenUsage ?? response.tokenUsage);
  const grading = objectOrEmpty(row.gradingResult);
  const components = Array.isArray(grading.componentResults) ? grading.componentResults.filter(isJsonObject) : [];
  const byPerson = components.find(({ assertion }) => objectOrEmpty(assertion).type === 'human');
  const annotator = optionalText(objectOrEmpty(around.metadata).author) ?? optionalText(around.author) ?? 'promptfoo';
  const comment = optionalText(grading.comment);
  const startedAt = timeOf(row.createdAt ?? evaluation.timestamp ?? objectOrEmpty(around.metadata).evaluationCreatedAt);
  const named = Object.entries({ ...objectOrEmpty(grading.namedScores), ...objectOrEmpty(row.namedScores) });
  const prompt = objectOrEmpty(row.prompt);
  const vars = objectOrEmpty(row.vars);
  return {
    id: optionalText(row.id),
    opName: 'promptfoo',
    startedAt,
    endedAt: timeAfter(startedAt, (numberOf(row.latencyMs) ?? 0) / 1000),
    inputs: { ...vars, ...(prompt.raw !== undefined && !('prompt' in vars) && { prompt: prompt.raw }) },
    output: response.output,
    // An assertion that failed is no failure of the call.
    exception: response.output === undefined ? (optionalText(row.error) ?? optionalText(response.error)) : undefined,
    usage: usageOf(providerId, tokens.prompt, tokens.completion, tokens.total),
    attributes: filledMembers({
      provider: providerId,
      prompt_label: optionalText(prompt.label),
      metadata: { ...objectOrEmpty(objectOrEmpty(row.testCase).metadata), ...objectOrEmpty(row.metadata) },
      promptfoo: filledMembers({
        evaluation: optionalText(around.evalId),
        description: optionalText(objectOrEmpty(row.testCase).description),
        test: row.testIdx,
        prompt: row.promptIdx,
        cost: row.cost,
      }),
    }),
    judgements: byPerson ? [{ field: 'pass', value: byPerson.pass === true, annotator }] : [],
    notes: comment === undefined ? [] : [{ note: comment, annotator }],
    scores: [
      { scorer: 'pass', value: row.success === true, comment: optionalText(grading.reason) },
      ...(numberOf(row.score) === undefined ? [] : [{ scorer: 'score', value: row.score }]),
      ...named.map(([scorer, value]) => ({ scorer, value })),
    ],
  };
}

/** Returns a call for each prompt of a row: the columns of a prompt follow the column with its output. */
function tableRow(row: Members): ImportedCall[] {
  const names = Object.keys(row);
  const statuses = names.filter((name) => /^Status(_\d+)?$/.test(name));
  const outputs = statuses.map((name) => names[names.indexOf(name) - 1]!);
  const inputs = Object.fromEntries(
    names.slice(0, names.indexOf(outputs[0]!)).map((name) => [name, ownMember(row, name)]),
  );
  return statuses.map((status, index): ImportedCall => {
    const output = outputs[index]!;
    const end = outputs[index + 1];
    const columns = names.slice(names.indexOf(status), end === undefined ? undefined : names.indexOf(end));
    const read = (name: string): string | undefined =>
      optionalText(ownMember(row, columns.find((column) => column.replace(/_\d+$/, '') === name) ?? ''));
    const reason = read('Grader Reason');
    const comment = read('Comment');
    const score = numberOf(read('Score'));
    const [, provider, label] = /^\[([^\]]*)\] (.*)$/s.exec(output) ?? [];
    const metrics = columns.filter((column) => column.startsWith('Metric: ') && optionalText(ownMember(row, column)));
    const isError = read('Status') === 'ERROR';
    return {
      opName: 'promptfoo',
      inputs,
      output: isError ? undefined : optionalText(ownMember(row, output)),
      exception: isError ? (optionalText(ownMember(row, output)) ?? reason ?? 'error') : undefined,
      attributes: filledMembers({ provider, prompt_label: label ?? output }),
      notes: comment === undefined ? [] : [{ note: comment, annotator: 'promptfoo' }],
      scores: [
        ...(isError ? [] : [{ scorer: 'pass', value: read('Status') === 'PASS', comment: reason }]),
        ...(score === undefined ? [] : [{ scorer: 'score', value: score }]),
        ...metrics.map((column) => ({
          scorer: column.slice('Metric: '.length),
          value: judgedValueOf(ownMember(row, column)),
        })),
      ],
    };
  });
}
