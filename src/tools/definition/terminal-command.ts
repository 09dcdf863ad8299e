/** The program and the flags with which a command in the user's terminal works on the data of this process. */
export interface TerminalAccess {
  /** The program as the user types it: `heddle` if it is installed. */
  program: string;
  /** The flags that the command needs, by their names, like `--project`. Values of a profile and defaults need none. */
  flags: ReadonlyMap<string, string>;
}

/** The flags that commands for queues take, and those for the data of the embedded service as a whole. */
export const queueFlags = ['--profile', '--base-url', '--data-dir', '--project'];
export const serviceDataFlags = ['--profile', '--data-dir'];

/** What commands for the user depend on. */
export interface CommandTarget {
  terminal: TerminalAccess;
  /** Project of calls that name none. */
  project: string | undefined;
  /** Project that the call names. */
  calledProject?: string | undefined;
}

/** Returns a command for the user's terminal with its arguments, and with those of the flags in `taken` that it needs. */
export function terminalCommand(
  [command, ...args]: readonly [string, ...string[]],
  taken: readonly string[],
  { terminal, project, calledProject = project }: CommandTarget,
): string {
  const needed = new Map(terminal.flags);
  if (calledProject !== undefined && calledProject !== project) needed.set('--project', calledProject);
  const words = taken.flatMap((flag) => {
    const value = needed.get(flag);
    return value === undefined ? [] : [flag, value];
  });
  return `\`${[terminal.program, command, ...[...args, ...words].map(shellWord)].join(' ')}\``;
}

/** Returns the name of a file for the judgements of a queue, which tells them from those of other queues. */
export function judgementsFile(queue: string): string {
  return `${queue.slice(0, 60).replaceAll(/[^\p{L}\p{N}_.-]/gu, '_')}-judgements.csv`;
}

/** Returns the options with which `queue export` saves the judgements of a queue as people read them. */
export function exportOptions(queue: string): string[] {
  return ['--format', 'csv', '--wide', '--values', '--out', judgementsFile(queue)];
}

/** Returns a text whose commands begin as the user types them. */
export function withProgram(text: string, program: string): string {
  return text.replaceAll('`heddle ', `\`${program} `);
}

/** Quotes a word for a shell unless it is plain. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
