import { type Log, type LogLevel, logLevels } from '../core/log.ts';

/** Form of a log line: to be read by people or by programs. */
export type LogFormat = 'text' | 'json';

/** Creates a log that writes one line per event to stderr, for events of at least the severity `level`. */
export function stderrLog(level: LogLevel, format: LogFormat, redact: (text: string) => string): Log {
  const threshold = logLevels.indexOf(level);
  return (severity, message, ...fields) => {
    if (logLevels.indexOf(severity) > threshold) return;
    const event = { time: new Date().toISOString(), level: severity, message, ...Object.assign({}, ...fields) };
    // Each string on its own first: inside of JSON, a mark could replace part of an escape sequence.
    const clean = (_: string, value: unknown): unknown => (typeof value === 'string' ? redact(value) : value);
    const line = format === 'json' ? JSON.stringify(event, clean) : textLine(event);
    process.stderr.write(`${redact(line)}\n`);
  };
}

/** Formats `TIME level message name=value …`. JSON escapes line breaks, so an event stays on one line. */
function textLine({ time, level, message, ...fields }: Record<string, unknown>): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${isPlainWord(value) ? value : JSON.stringify(value)}`);
  return [`${time} ${level} ${message}`, ...pairs].join(' ');
}

function isPlainWord(value: unknown): boolean {
  return typeof value === 'string' && /^[\w.:/+@-]+$/.test(value);
}
