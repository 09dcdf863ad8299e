import { InexactNumberError, parseExactJson } from '../../../core/json/json-numbers.ts';
import { JsonLimitError } from '../../../core/json/parse-json.ts';
import { inputError, readFileLines } from '../../access/text-file.ts';

/** Reads the JSON value of a file. */
export async function readJsonFile(file: string): Promise<unknown> {
  const lines: string[] = [];
  for await (const line of readFileLines(file)) lines.push(line);
  try {
    return parseExactJson(lines.join('\n'));
  } catch (error) {
    if (error instanceof JsonLimitError) throw inputError(`${file} is ${error.message}.`, error);
    if (error instanceof InexactNumberError) throw inputError(`${file}: ${error.message}.`, error);
    throw inputError(`${file} is not valid JSON: ${(error as Error).message}.`, error);
  }
}
