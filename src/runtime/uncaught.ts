import type { Log } from '../core/log.ts';

let react: (error: unknown) => void = () => {};

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error) => react(error));
}

/** Sets what happens to errors that got past every boundary. */
export function onUncaught(reaction: (error: unknown) => void): void {
  react = reaction;
}

/**
 * From now on such an error is one line of the log and the process goes on: a server has other calls under way, and
 * none of them is helped by its end.
 */
export function outliveUncaught(log: Log): void {
  onUncaught((error) => {
    // Nobody reads the log any more: a line about that would be the next such error, and so on without an end.
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE') return;
    log('error', 'uncaught', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
}
