import { findPlaceholders, templateTexts } from '../../contract/prompts.ts';
import { columnOfPlaceholder } from '../../contract/scorers.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { listNames, shortened } from '../inference/template-variables.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Transaction } from '../storage/database.ts';
import { selectPlaces, selectRows } from '../storage/row-tables.ts';
import { judgesIn, type RunDefinition } from './run-definition.ts';

const rowsPerRead = 200;
/** Memory of the rows in which columns are looked for, because others wait for the write transaction. */
const maxReadBytes = 8 * 1024 * 1024;

/** A placeholder, and the column that fills it. */
interface Need {
  /** The model or the scorer with the placeholder. */
  of: string;
  placeholder: string;
  column: string;
}

/**
 * Checks that some row has a column for each placeholder of the model and of the judges. A dataset that is too large to be read
 * gets the benefit of the doubt: a row that lacks a column is a failure of its trial.
 * @throws Refusal 400 for a placeholder that no row fills, or a lone brace.
 */
export async function requireColumns(
  transaction: Transaction,
  { request, model, scorers, table, rowCount }: RunDefinition,
  budget: RequestBudget,
): Promise<void> {
  const needs = [
    ...(request && model !== null ? needsOf(model, request.messages, {}) : []),
    ...scorers.flatMap((scorer) =>
      judgesIn(scorer).flatMap((judge) => {
        const messages = [...judge.request.messages, ...judge.prompt];
        if (judge.kind === 'judge') return needsOf(scorer.reference, messages, judge.columns);
        return needsOf(scorer.reference, messages, {}).filter(
          ({ column }) => column !== 'first' && column !== 'second',
        );
      }),
    ),
  ];
  const unfilled = new Map(needs.map((need) => [need.column, need]));
  const columns = new Set<string>();
  let readBytes = 0;
  for (let start = 0; start < rowCount && unfilled.size > 0; start += rowsPerRead) {
    const end = start + rowsPerRead;
    const places = await selectPlaces(transaction, table)
      .where('row_index', '>=', start)
      .where('row_index', '<', end)
      .execute();
    const bytes = places.reduce((sum, { memory_bytes }) => sum + memory_bytes, 0);
    readBytes += bytes;
    if (readBytes > maxReadBytes) return;
    await budget.parse(bytes);
    const rows = await selectRows(transaction, table)
      .where('row_index', '>=', start)
      .where('row_index', '<', end)
      .execute();
    for (const name of rows.flatMap(({ content }) => Object.keys(JSON.parse(content)))) {
      columns.add(name);
      unfilled.delete(name);
    }
  }
  const [first] = unfilled.values();
  if (!first || rowCount === 0) return;
  const { of, placeholder, column } = first;
  const mapped = column === placeholder ? '' : ` (column ${shortened(column)})`;
  const known = listNames([...columns], shortened(column));
  throw new Refusal(
    400,
    `No row of the dataset fills the placeholder {${shortened(placeholder)}}${mapped} of ${of}; its columns: ${known}`,
  );
}

function needsOf(of: string, messages: readonly unknown[], columnMap: Record<string, string>): Need[] {
  const { names, loneBrace } = findPlaceholders(templateTexts(messages));
  if (loneBrace !== undefined) {
    throw new Refusal(
      400,
      `Lone ${loneBrace} in a message of ${of}: write ${loneBrace}${loneBrace} for a literal brace`,
    );
  }
  return names.flatMap((placeholder) => {
    const column = columnOfPlaceholder(placeholder, columnMap);
    return column === undefined ? [] : [{ of, placeholder, column }];
  });
}
