import { type Log, type LogLevel, logLevels } from '../contract/log.ts';

/** A log on stderr, one JSON object a line, from `least` severity on. Secrets go out of every line. */
export function stderrLog(least: LogLevel, redact: (text: string) => string): Log {
  const threshold = logLevels.indexOf(least);
  return (level, message, fields) => {
    if (logLevels.indexOf(level) > threshold) return;
    const line = { time: new Date().toISOString(), level, message, ...fields };
    process.stderr.write(`${redact(JSON.stringify(line))}\n`);
  };
}
