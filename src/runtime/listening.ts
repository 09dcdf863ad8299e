import { HeddleError } from '../core/errors.ts';

/** The server that is being started. Where it cannot listen, that is said in one line, and the process ends. */
export async function listening<T>(starting: Promise<T>, host: string, port: number, flag: string): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof HeddleError || code === undefined) throw error;
    const reason = code === 'EADDRINUSE' ? `the port is in use; choose another with ${flag}` : message;
    process.stderr.write(`heddle: cannot listen on ${host}, port ${port}: ${reason}\n`);
    process.exit(1);
  }
}
