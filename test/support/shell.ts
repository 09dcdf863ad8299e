import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

/** A shell that keeps its state between commands. */
export class Shell {
  readonly #child: ChildProcess;
  #output = '';
  #changed = (): void => {};

  constructor(folder: string, environment: Record<string, string>) {
    this.#child = spawn('bash', ['--noprofile', '--norc'], {
      cwd: folder,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      // A process group, so that background commands end with the shell.
      detached: true,
    });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
      this.#changed();
    });
    // One pipe keeps stdout and stderr in order.
    this.#child.stdin!.write('exec 2>&1\n');
    // If a command ended the shell, `run` times out.
    this.#child.stdin!.on('error', () => {});
  }

  /** Runs a command and returns its exit code, and its output together with that of background commands. */
  async run(command: string, timeoutMs = 60_000): Promise<{ code: number; output: string }> {
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
      if (Date.now() > deadline) throw new Error(`timed out: ${command}\n${this.#output}`);
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
      // The shell has already ended.
    }
  }
}

/** Splits a transcript into commands and their output. `> ` continues a command. */
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

/** Returns a pattern for output in which `…` stands for any text. */
export function pattern(expected: string): RegExp {
  const parts = expected
    .trim()
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`);
}
