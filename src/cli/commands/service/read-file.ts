import { createReadStream } from 'node:fs';
import { HeddleError } from '../../../core/errors.ts';
import { inexactNumbers } from '../../../core/json-numbers.ts';

/** Reads the lines of a UTF-8 file, or of stdin for `-`. */
export async function* readFileLines(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      // Not node:readline, which also splits at U+2028; JSON allows that character inside of strings.
      const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
    rest += decoder.decode();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const problem = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not UTF-8 text' : `cannot be read (${code})`;
    throw inputError(`${file} ${problem}.`, cause);
  }
  if (rest !== '') yield rest;
}

/** Reads the JSON value of a file; for lines of JSON, the array of their values. */
export async function readJsonFile(file: string): Promise<unknown> {
  const lines: string[] = [];
  for await (const line of readFileLines(file)) lines.push(line);
  try {
    return parseExactly(lines.join('\n'), file);
  } catch (error) {
    if (error instanceof HeddleError) throw error;
    return lines.flatMap((line, index) => {
      if (line.trim() === '') return [];
      try {
        return [parseExactly(line, `${file}, line ${index + 1}`)];
      } catch (cause) {
        if (cause instanceof HeddleError) throw cause;
        const reason = `${(error as Error).message}) nor lines of JSON (line ${index + 1} is not valid`;
        throw inputError(`${file} is neither JSON (${reason}).`, cause);
      }
    });
  }
}

/** @throws HeddleError for a number that would change, SyntaxError for text that is not JSON. */
function parseExactly(json: string, place: string): unknown {
  const value: unknown = JSON.parse(json);
  const [inexact] = inexactNumbers(json);
  if (inexact) throw inputError(`${[place, inexact.loc.join('.')].filter(Boolean).join(': ')}: ${inexact.msg}.`);
  return value;
}

function inputError(message: string, cause?: unknown): HeddleError {
  const hint = 'Nothing was stored. Fix the file name or the content, and try again.';
  return new HeddleError({ code: 'invalid_arguments', message, hint, cause });
}
