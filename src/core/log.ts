export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Writes a log line. `fields` are plain values; later ones override earlier ones. Implementations remove secrets. */
export type Log = (level: LogLevel, message: string, ...fields: (Record<string, unknown> | undefined)[]) => void;
