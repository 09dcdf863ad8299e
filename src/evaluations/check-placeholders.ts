import { findPlaceholders, templateTexts } from '../contract/prompts.ts';
import { columnOfPlaceholder, type LlmJudgeScorer } from '../contract/scorers.ts';
import { HeddleError, invalidArgument } from '../core/errors.ts';
import { nearestSentence, shortName } from '../text/names.ts';
import type { DatasetRows, EvaluationScorers, Row } from './evaluation-plan.ts';

/** Messages with placeholders. */
interface Template {
  messages: readonly unknown[];
  /** The argument of the tool, or the judge, that the messages come from. */
  of: { argument: string } | { judge: string };
  columnMap?: LlmJudgeScorer['column_map'];
}

/** A placeholder of messages, and the column that fills it; or the column that a scorer needs. */
interface Need {
  of: Template['of'] | { scorer: string };
  placeholder: string;
  column: string;
}

/** The source of the rows, and what errors advise if a scorer does not fit them. */
interface RowSource {
  name: string;
  /** Says how to change the prompt of a judge. */
  judgeAdvice: string;
  /** Says how to give another scorer the column that it needs. */
  columnAdvice: string;
  /** The first words of the error, which say what did not happen. By default, nothing was started. */
  consequence?: string;
}

const notStarted = 'Nothing was started';

const datasetSource: RowSource = {
  name: 'the dataset',
  judgeAdvice: 'Store the scorer again, and the evaluation with it.',
  columnAdvice: 'Store the scorer with another column, or add it to the dataset, and the evaluation again.',
};

/** Placeholders for which an error names the nearest columns. */
const maxExplained = 3;

/**
 * Checks that some row has a column for each placeholder of the model's messages and of those of the judges, and the columns
 * that scorers need.
 * @param source what has the rows, and how a scorer fits them, in the words of an error.
 * @throws HeddleError `invalid_arguments`, for a scorer `invalid_request`, with the nearest columns.
 */
export async function checkPlaceholders(
  { messages, argument }: { messages: readonly unknown[]; argument: string },
  { judges, comparisons }: EvaluationScorers,
  dataset: DatasetRows,
  source: RowSource = datasetSource,
): Promise<void> {
  const needs: Need[] = [
    ...needsOf({ messages, of: { argument } }, source),
    ...judges.flatMap(({ name, filled, columnMap }) =>
      needsOf({ messages: filled, of: { judge: name }, columnMap }, source),
    ),
    ...comparisons.flatMap(({ name, columns }) =>
      columns.map((column) => ({ of: { scorer: name }, placeholder: column, column })),
    ),
  ];
  const columns = await readColumns(new Set(needs.map(({ column }) => column)), dataset);
  const unfilled = needs.filter(({ column }) => !columns.has(column));
  const [first] = unfilled;
  if (!first) return;
  const alike = unfilled.filter(({ of }) => of === first.of);
  const names = alike.map(({ placeholder, column }) =>
    column === placeholder ? `{${shortName(column)}}` : `{${shortName(placeholder)}} (column ${shortName(column)})`,
  );
  const nearest = alike
    .slice(0, maxExplained)
    .map(({ column }) => nearestSentence(`columns to ${shortName(column)}`, column, [...columns]));
  if ('scorer' in first.of) {
    throw new HeddleError({
      code: 'invalid_request',
      message: `${source.consequence ?? notStarted}: the scorer ${first.of.scorer} needs the column ${shortName(first.column)}, which ${source.name} does not have.`,
      hint: `${nearest.join(' ')} ${source.columnAdvice}`,
    });
  }
  throw templateFault(
    first.of,
    `${source.name} has no column for ${names.join(', ')}`,
    `${nearest.join(' ')} Write {{ and }} for literal braces.`,
    source,
  );
}

/** Returns the columns of a dataset; those of its first rows, if they have all that are wanted. */
export async function readColumns(
  wanted: ReadonlySet<string>,
  { sample, count, read }: DatasetRows,
): Promise<ReadonlySet<string>> {
  const columnsIn = (rows: readonly Row[]): Set<string> => new Set(rows.flatMap((row) => Object.keys(row)));
  const columns = columnsIn(sample);
  const isComplete = sample.length >= count || [...wanted].every((name) => columns.has(name));
  return isComplete ? columns : columnsIn(await read(0, count));
}

function needsOf({ messages, of, columnMap }: Template, source: RowSource): Need[] {
  const { names, loneBrace } = findPlaceholders(templateTexts(messages));
  if (loneBrace !== undefined) {
    const hint = `Write ${loneBrace}${loneBrace} for a literal brace, and {column} for a value of the row.`;
    throw templateFault(of, `${'judge' in of ? 'its prompt' : of.argument} has a lone ${loneBrace}`, hint, source);
  }
  return names.flatMap((placeholder) => {
    const column = 'judge' in of ? columnOfPlaceholder(placeholder, columnMap) : placeholder;
    return column === undefined ? [] : [{ of, placeholder, column }];
  });
}

function templateFault(of: Template['of'], fault: string, hint: string, source: RowSource): HeddleError {
  const { judgeAdvice, consequence = notStarted } = source;
  if ('argument' in of) return invalidArgument(of.argument, { consequence, fault, hint });
  return new HeddleError({
    code: 'invalid_request',
    message: `${consequence}: the judge ${of.judge} cannot be asked, because ${fault}.`,
    hint: `${hint} ${judgeAdvice}`,
  });
}
