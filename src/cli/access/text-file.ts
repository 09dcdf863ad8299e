import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { TextDecoder } from 'node:util';
import { fileFault, HeddleError } from '../../core/errors.ts';
import { invocation } from '../invocation.ts';

/** Maximum size of a line or row: a larger value could not be read back, because no response may be larger. */
export const maxLineBytes = 32 * 1024 * 1024;

/** Bytes at the beginning of a file that show its encoding. */
const headBytes = 64 * 1024;

/** Beginnings of files that are not text, with the next step. */
const binaryFiles: readonly (readonly [signature: string, advice: string])[] = [
  ['PK\u0003\u0004', 'is an Excel workbook or a ZIP archive: save the sheet as CSV, or unpack the archive'],
  ['\u001f\u008b', 'is compressed: unpack it with gunzip'],
  ['(\u00b5/\u00fd', 'is compressed: unpack it with zstd -d'],
  ['PAR1', 'is Parquet: convert it to CSV or lines of JSON'],
  ['SQLite format 3', 'is a SQLite database: export the table as CSV'],
  ['%PDF', 'is a PDF'],
];

/**
 * Reads the text of a file, or of stdin for `-`, in the encoding that its bytes show: UTF-8, UTF-16 in either byte order, or
 * else Windows-1252, which includes Latin-1. A byte order mark is not part of the text.
 * @throws HeddleError `invalid_arguments` for a file that cannot be read, is not text, or is UTF-8 with invalid bytes.
 */
export async function* readText(file: string): AsyncGenerator<string> {
  try {
    const source: AsyncIterable<Buffer> = file === '-' ? invocation().stdin : createReadStream(file);
    let decoder: TextDecoder | undefined;
    let head: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of source) {
      if (decoder) {
        yield decoder.decode(chunk, { stream: true });
        continue;
      }
      head.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes < headBytes) continue;
      decoder = await decoderFor(Buffer.concat(head), file);
      yield decoder.decode(Buffer.concat(head), { stream: true });
      head = [];
    }
    decoder ??= await decoderFor(Buffer.concat(head), file);
    // Without `stream`, some versions of Node decode Windows-1252 as Latin-1.
    yield decoder.decode(Buffer.concat(head), { stream: true });
    yield decoder.decode();
  } catch (cause) {
    throw unreadableFile(file, cause);
  }
}

/**
 * Splits text into lines, without their ends: line feed, carriage return, or both.
 * @throws HeddleError `invalid_arguments` for a line that is too large.
 */
export async function* splitLines(text: AsyncIterable<string>, file: string): AsyncGenerator<string> {
  let parts: string[] = [];
  let bytes = 0;
  let line = 1;
  let afterReturn = false;
  const append = (part: string): void => {
    parts.push(part);
    bytes += Buffer.byteLength(part);
    if (bytes <= maxLineBytes) return;
    throw inputError(`Line ${line} of ${file} is larger than ${maxLineBytes} bytes.`);
  };
  for await (const chunk of text) {
    let start = 0;
    // Not node:readline, which also splits at U+2028; JSON allows that character inside of strings.
    for (const { 0: end, index } of chunk.matchAll(/[\r\n]/g)) {
      const isRest = end === '\n' && index === start && afterReturn;
      if (!isRest) {
        append(chunk.slice(start, index));
        yield parts.join('');
        parts = [];
        bytes = 0;
        line += 1;
      }
      afterReturn = end === '\r';
      start = index + 1;
    }
    if (start < chunk.length) {
      afterReturn = false;
      append(chunk.slice(start));
    }
  }
  if (bytes > 0) yield parts.join('');
}

async function decoderFor(head: Buffer, file: string): Promise<TextDecoder> {
  const start = head.toString('latin1', 0, 16);
  const binary = binaryFiles.find(([signature]) => start.startsWith(signature));
  if (binary) throw inputError(`${file} ${binary[1]}.`);
  const encoding = utf16Of(head) ?? ((await isUtf8(head, file)) ? 'utf-8' : 'windows-1252');
  if (encoding === 'windows-1252') {
    const { stderr } = invocation();
    stderr.write(`${file} is not UTF-8; it was read as Windows-1252. If letters are wrong, save it as UTF-8.\n`);
  }
  return new TextDecoder(encoding, { fatal: true });
}

/** Returns the byte order of UTF-16, by the mark or by the zeros that Latin letters have; undefined for another encoding. */
function utf16Of(head: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  const sample = head.subarray(0, 1024);
  const zeros = { even: 0, odd: 0 };
  for (const [index, byte] of sample.entries()) if (byte === 0) zeros[index % 2 === 0 ? 'even' : 'odd'] += 1;
  const many = sample.length / 8;
  if (zeros.odd > many && zeros.even === 0) return 'utf-16le';
  return zeros.even > many && zeros.odd === 0 ? 'utf-16be' : undefined;
}

/**
 * Returns whether a file is UTF-8. Stdin, which can be read only once, is judged by its beginning.
 * @throws HeddleError `invalid_arguments` for UTF-8 with a few invalid bytes.
 */
async function isUtf8(head: Buffer, file: string): Promise<boolean> {
  const isFile = file !== '-' && (await stat(file)).isFile();
  const whole = (): AsyncIterable<Buffer> | Buffer[] => (isFile ? createReadStream(file) : [head]);
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for await (const chunk of whole()) decoder.decode(chunk, { stream: true });
    if (isFile) decoder.decode();
    return true;
  } catch (cause) {
    if (!isInvalidText(cause)) throw cause;
  }
  const decoder = new TextDecoder();
  const counts = { invalid: 0, valid: 0 };
  for await (const chunk of whole()) {
    for (const character of decoder.decode(chunk, { stream: true })) {
      if (character === '\ufffd') counts.invalid += 1;
      else if (character > '\u007f') counts.valid += 1;
    }
  }
  if (counts.valid <= counts.invalid) return false;
  throw inputError(`${file} is not UTF-8 text: ${counts.invalid} characters of it are invalid.`);
}

function isInvalidText(cause: unknown): boolean {
  return (cause as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA';
}

/** Returns the error for a file that could not be read: the cause itself, or one that names the file. */
export function unreadableFile(file: string, cause: unknown): HeddleError {
  if (cause instanceof HeddleError) return cause;
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const problem = code.startsWith('CSV_')
    ? `is not valid CSV: ${message}`
    : isInvalidText(cause)
      ? 'is not UTF-8 text'
      : `cannot be read: ${fileFault(cause, 'read')}`;
  return inputError(`${file} ${problem}.`, cause);
}

/** Returns the error for a file with content that cannot be stored. */
export function inputError(
  message: string,
  cause?: unknown,
  hint = 'Fix the file name or the content, and try again.',
) {
  return new HeddleError({ code: 'invalid_arguments', message, hint: `Nothing was stored. ${hint}`, cause });
}
