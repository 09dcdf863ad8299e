import { createReadStream } from 'node:fs';
import { HeddleError } from '../../../core/errors.ts';
import { InexactNumberError, parseExactJson } from '../../../core/json/json-numbers.ts';
import { JsonLimitError } from '../../../core/json/parse-json.ts';
import { invocation } from '../../invocation.ts';

/** Maximum size of a line: a larger value could not be read back, because no response may be larger. */
const maxLineBytes = 32 * 1024 * 1024;

/**
 * Reads the lines of a UTF-8 file, or of stdin for `-`.
 * @throws HeddleError `invalid_arguments` for a file that cannot be read, is not UTF-8, or has a line that is too large.
 */
export async function* readFileLines(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let parts: Buffer[] = [];
  let lineBytes = 0;
  let line = 1;
  const append = (part: Buffer): void => {
    parts.push(part);
    lineBytes += part.length;
    if (lineBytes <= maxLineBytes) return;
    throw inputError(`Line ${line} of ${file} is larger than ${maxLineBytes} bytes.`);
  };
  const endLine = (): string => {
    const bytes = Buffer.concat(parts);
    parts = [];
    lineBytes = 0;
    line += 1;
    return decoder.decode(bytes);
  };
  try {
    for await (const chunk of file === '-' ? invocation().stdin : createReadStream(file)) {
      const bytes = chunk as Buffer;
      let start = 0;
      // Not node:readline, which also splits at U+2028; JSON allows that character inside of strings.
      for (let end = bytes.indexOf('\n'); end !== -1; end = bytes.indexOf('\n', start)) {
        append(bytes.subarray(start, end));
        yield endLine();
        start = end + 1;
      }
      append(bytes.subarray(start));
    }
    if (lineBytes > 0) yield endLine();
  } catch (cause) {
    throw unreadableFile(file, cause);
  }
}

/** Returns the error for a file that could not be read: the cause itself, or one that names the file. */
export function unreadableFile(file: string, cause: unknown): HeddleError {
  if (cause instanceof HeddleError) return cause;
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const problem = code.startsWith('CSV_')
    ? `is not valid CSV: ${message}`
    : code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
      ? 'is not UTF-8 text'
      : `cannot be read (${code || message})`;
  return inputError(`${file} ${problem}.`, cause);
}

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

/** Returns the error for a file with content that cannot be stored. */
export function inputError(message: string, cause?: unknown): HeddleError {
  const hint = 'Nothing was stored. Fix the file name or the content, and try again.';
  return new HeddleError({ code: 'invalid_arguments', message, hint, cause });
}
