export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Where a part of heddle writes what it does. `fields` are plain values; whoever implements it takes secrets out. */
export type Log = (level: LogLevel, message: string, fields?: Record<string, unknown>) => void;
