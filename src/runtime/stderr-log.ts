import { type Log, type LogLevel, logLevels } from '../core/log.ts';

/** How a line looks: for a person, or for a program. */
export type LogFormat = 'text' | 'json';

/** A log on stderr, one line for each event, from `least` severity on. Secrets go out of every line. */
export function stderrLog(least: LogLevel, format: LogFormat, redact: (text: string) => string): Log {
  const threshold = logLevels.indexOf(least);
  const written = format === 'json' ? jsonLine : textLine;
  return (level, message, ...fields) => {
    if (logLevels.indexOf(level) > threshold) return;
    process.stderr.write(
      `${redact(written(new Date().toISOString(), level, message, Object.assign({}, ...fields)))}\n`,
    );
  };
}

type Line = (time: string, level: LogLevel, message: string, fields: Record<string, unknown>) => string;

const jsonLine: Line = (time, level, message, fields) => JSON.stringify({ time, level, message, ...fields });

/** `TIME level message name=value …`; what is more than one plain word is written as JSON, so that a line stays one. */
const textLine: Line = (time, level, message, fields) =>
  [
    `${time} ${level} ${message}`,
    ...Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(
        ([name, value]) => `${name}=${typeof value === 'string' && plain.test(value) ? value : JSON.stringify(value)}`,
      ),
  ].join(' ');

const plain = /^[\w.:/+@-]+$/;
