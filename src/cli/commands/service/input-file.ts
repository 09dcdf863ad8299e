import { createReadStream } from 'node:fs';
import { HeddleError } from '../../../core/errors.ts';

/**
 * Lines of a UTF-8 file, or of stdin for `-`. Only line feeds end them: readline also cuts at U+2028, which JSON allows
 * inside its strings.
 */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
    rest += decoder.decode();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new HeddleError({
      code: 'invalid_arguments',
      message: `${file} ${code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not UTF-8 text' : `cannot be read (${code})`}.`,
      hint: 'Nothing was stored. Check the name and the content of the file.',
      cause,
    });
  }
  if (rest !== '') yield rest;
}

/** The JSON value of a file, or the list of values where each line has its own. */
export async function jsonOf(file: string): Promise<unknown> {
  const lines: string[] = [];
  for await (const line of linesOf(file)) lines.push(line);
  try {
    return JSON.parse(lines.join('\n'));
  } catch (whole) {
    return lines.flatMap((line, index) => {
      if (line.trim() === '') return [];
      try {
        return [JSON.parse(line)];
      } catch (cause) {
        throw new HeddleError({
          code: 'invalid_arguments',
          message: `${file} is neither JSON (${(whole as Error).message}) nor lines of JSON (line ${index + 1} is not).`,
          hint: 'Nothing was stored. Correct the file and try again.',
          cause,
        });
      }
    });
  }
}
