import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { command } from './heddle.ts';
import { onEnd } from './on-end.ts';

/** A running command that shows a View in the browser. */
export interface ViewProcess {
  /** Address with the token that counts once. */
  url: string;
  /** Sends Ctrl-C, and resolves to the exit code. */
  interrupt: () => Promise<number | null>;
}

/** Starts `heddle board`, with these flags by default without a browser. It ends with the test. */
export function startBoardProcess(
  args: string[],
  environment: Record<string, string>,
  flags = ['--no-open'],
): Promise<ViewProcess> {
  return startViewProcess(['board', ...flags, ...args], environment);
}

/** Starts a command that shows a View in the browser. It ends with the test. */
export async function startViewProcess(args: string[], environment: Record<string, string>): Promise<ViewProcess> {
  const child = spawn(process.execPath, [command, ...args], { env: environment });
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  onEnd(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const url = await new Promise<string>((resolve, reject) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const found = /http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+/.exec(output);
        if (found && output.includes('Ctrl-C')) resolve(found[0]);
      });
    }
    exit.then((code) => reject(new Error(`ended with ${code}: ${output}`)));
  });
  return {
    url,
    interrupt: () => {
      child.kill('SIGINT');
      return exit;
    },
  };
}
