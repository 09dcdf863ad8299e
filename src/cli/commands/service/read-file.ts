import { InexactNumberError, parseExactJson } from '../../../core/json/json-numbers.ts';
import { JsonLimitError } from '../../../core/json/parse-json.ts';
import { inputError, readFileLines } from '../../access/text-file.ts';

/** Reads the JSON value of a file; for lines of JSON, the array of their values. */
export async function readJsonFile(file: string): Promise<unknown> {
  const lines: string[] = [];
  for await (const line of readFileLines(file)) lines.push(line);
  try {
    return parseExactJson(lines.join('\n'));
  } catch (error) {
    if (error instanceof JsonLimitError) throw inputError(`${file} is ${error.message}.`, error);
    if (error instanceof InexactNumberError) throw inputError(`${file}: ${error.message}.`, error);
    return lines.flatMap((line, index) => {
      if (line.trim() === '') return [];
      try {
        return [parseExactJson(line)];
      } catch (cause) {
        if (cause instanceof InexactNumberError) {
          throw inputError(`${file}, line ${index + 1}: ${cause.message}.`, cause);
        }
        const reason = `${(error as Error).message}) nor lines of JSON (line ${index + 1} is not valid`;
        throw inputError(`${file} is neither JSON (${reason}).`, cause);
      }
    });
  }
}
