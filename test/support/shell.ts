import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** One shell that lives as long as a page: what one block sets up, the next can use. */
export class Shell {
  readonly #child: ChildProcess;
  #output = '';
  #changed = (): void => {};

  constructor(folder: string, environment: Record<string, string>) {
    this.#child = spawn('bash', ['--noprofile', '--norc'], {
      cwd: folder,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own group, so that what it left running ends with it.
      detached: true,
    });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
      this.#changed();
    });
    // One pipe for both keeps them in order.
    this.#child.stdin!.write('exec 2>&1\n');
    // A command that ends the shell is told by the output that never comes.
    this.#child.stdin!.on('error', () => {});
  }

  /** Runs a command to its end; what it and those in the background write is the output. */
  async run(command: string, timeoutMs = 20_000): Promise<{ code: number; output: string }> {
    const mark = `end-${randomUUID()}`;
    this.#child.stdin!.write(`${command}\necho "${mark} $?"\n`);
    const end = new RegExp(`${mark} (\\d+)\\n`);
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = end.exec(this.#output);
      if (found) {
        const output = this.#output.slice(0, found.index);
        this.#output = this.#output.slice(found.index + found[0].length);
        return { code: Number(found[1]), output };
      }
      if (Date.now() > deadline) throw new Error(`no end of: ${command}\n${this.#output}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  end(): void {
    try {
      process.kill(-this.#child.pid!, 'SIGTERM');
    } catch {
      // It has ended already.
    }
  }
}

/** The commands of a transcript with the output that stands below each. `> ` continues a command. */
export function transcript(text: string): { command: string; output: string }[] {
  const steps: { command: string; output: string }[] = [];
  for (const line of text.split('\n').slice(0, -1)) {
    const last = steps.at(-1);
    if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: '' });
    else if (last && line.startsWith('> ') && last.output === '') last.command += `\n${line.slice(2)}`;
    else if (last) last.output += `${line}\n`;
    else throw new Error(`a transcript begins with a command, not with ${line}`);
  }
  return steps;
}

/** Matches output: `…` stands for any text, everything else for itself. */
export function pattern(expected: string): RegExp {
  const parts = expected
    .trim()
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`);
}
