import type { Writable } from 'node:stream';
import { type Log, type LogLevel, logLevels } from '../core/log.ts';

/** Form of a log line: to be read by people or by programs. */
export type LogFormat = 'text' | 'json';

/** Maximum number of lines in a second; a client that makes heddle log could otherwise fill the disk. */
const maxLinesPerSecond = 2_000;
/** Length at which a string in a log line is cut. */
const maxFieldChars = 10_000;

/**
 * Creates a log that writes one line per event, for events of at least the severity `level`. Lines beyond the
 * limit per second are counted, and the count is logged when the second is over.
 */
export function lineLog(output: Writable, level: LogLevel, format: LogFormat, redact: (text: string) => string): Log {
  const threshold = logLevels.indexOf(level);
  // Each string on its own first: inside of JSON, a mark could replace part of an escape sequence.
  const clean = (_: string, value: unknown): unknown => (typeof value === 'string' ? redact(value) : value);
  const write = (severity: LogLevel, message: string, fields: object): void => {
    const time = new Date().toISOString();
    const event = { time, level: severity, message, ...shortened(fields, redact) };
    const line = format === 'json' ? JSON.stringify(event, clean) : textLine(event);
    output.write(`${redact(line)}\n`);
  };
  let lines = 0;
  let second: NodeJS.Timeout | undefined;
  const endSecond = (): void => {
    clearTimeout(second);
    second = undefined;
    const dropped = lines - maxLinesPerSecond;
    lines = 0;
    if (dropped > 0) write('warn', 'log lines dropped', { count: dropped, limit_per_second: maxLinesPerSecond });
  };
  let startedAtMs = 0;
  return (severity, message, ...fields) => {
    if (logLevels.indexOf(severity) > threshold) return;
    // A timer alone would come late while the process is busy.
    if (second !== undefined && performance.now() - startedAtMs >= 1000) endSecond();
    if (second === undefined) {
      startedAtMs = performance.now();
      second = setTimeout(endSecond, 1000).unref();
    }
    lines += 1;
    if (lines <= maxLinesPerSecond) write(severity, message, Object.assign({}, ...fields));
  };
}

/** Cuts long strings, once they are without secrets: half a secret would no longer be found. */
function shortened(fields: object, redact: (text: string) => string): object {
  const cut = (value: unknown): unknown =>
    typeof value === 'string' && value.length > maxFieldChars
      ? `${redact(value).slice(0, maxFieldChars).toWellFormed()}…`
      : value;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, cut(value)]));
}

/** Formats `TIME level message name=value …`. JSON escapes line breaks, so an event stays on one line. */
function textLine({ time, level, message, ...fields }: Record<string, unknown>): string {
  const isPlainWord = (value: unknown): boolean => typeof value === 'string' && /^[\w.:/+@-]+$/.test(value);
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${isPlainWord(value) ? value : JSON.stringify(value)}`);
  return [`${time} ${level} ${message}`, ...pairs].join(' ');
}
