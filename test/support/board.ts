import { startCommand } from './heddle.ts';

/** A running command that shows a View in the browser. */
export interface ViewCommand {
  /** Address with the token that counts once. */
  url: string;
  /** Acts as Ctrl-C, and resolves to the exit code. */
  interrupt: () => Promise<number | null>;
}

/** Starts `heddle board` in this process, with these flags by default without a browser. It ends with the test. */
export function startBoard(
  args: string[],
  environment: Record<string, string>,
  flags = ['--no-open'],
): Promise<ViewCommand> {
  return startView(['board', ...flags, ...args], environment);
}

/** Starts a command in this process that shows a View in the browser. It ends with the test. */
export async function startView(args: string[], environment: Record<string, string>): Promise<ViewCommand> {
  const command = startCommand(args, environment);
  const [url] = await command.reports(/http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]+(?=[\s\S]*Ctrl-C)/);
  const interrupt = async (): Promise<number | null> => {
    command.signal('SIGINT');
    return (await command.finished).code;
  };
  return { url, interrupt };
}
