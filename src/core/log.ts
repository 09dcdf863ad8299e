export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Where a part of heddle writes what it does. `fields` are plain values, of equal names the last; they are put together
 * only where the line is written. Whoever implements it takes secrets out.
 */
export type Log = (level: LogLevel, message: string, ...fields: (Record<string, unknown> | undefined)[]) => void;
