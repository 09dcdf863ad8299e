import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { command, emptyHome, startCommand } from './heddle.ts';

type Answer = { id?: unknown; result?: Record<string, unknown>; error?: { code: number; message: string } };

interface StdioServer {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** Resolves to the exit code when the server has ended and its output is read. */
  ended: Promise<number | null>;
}

function startInThisProcess(environment: Record<string, string>): StdioServer {
  const stdin = new PassThrough();
  const { stdout, stderr, finished } = startCommand(['serve'], environment, stdin);
  return { stdin, stdout, stderr, ended: finished.then(({ code }) => code) };
}

/** A client that writes raw lines to a stdio server in this process. The server ends with the test, or with the file when started at its top level. */
export class LineClient {
  readonly stdin: Writable;
  readonly stdout: Readable;
  stderr = '';
  /** Lines of stdout that are not JSON-RPC messages. */
  readonly noise: string[] = [];
  readonly #ended: Promise<number | null>;
  readonly #answers = new Map<unknown, Answer>();
  readonly #waiting = new Map<unknown, (answer: Answer) => void>();

  constructor(home: string, extra: Record<string, string> = {}, start = startInThisProcess) {
    const { stdin, stdout, stderr, ended } = start(emptyHome(home, { HEDDLE_LOG_FORMAT: 'json', ...extra }));
    this.stdin = stdin.on('error', () => {});
    this.stdout = stdout;
    this.#ended = ended;
    stderr.on('data', (bytes) => {
      this.stderr += bytes;
    });
    createInterface({ input: stdout }).on('line', (line) => {
      try {
        const message = JSON.parse(line);
        if (message.jsonrpc !== '2.0') throw new Error();
        if ('method' in message) return;
        this.#answers.set(message.id, message);
        this.#waiting.get(message.id)?.(message);
      } catch {
        this.noise.push(line);
      }
    });
  }

  write(bytes: string | Uint8Array): void {
    this.stdin.write(bytes);
  }

  /** Sends a message and waits for the response with its id. */
  async ask(message: { id: unknown } & Record<string, unknown>): Promise<Answer> {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    return this.answerTo(message.id);
  }

  async answerTo(id: unknown): Promise<Answer> {
    const known = this.#answers.get(id);
    const answer = known ?? (await new Promise<Answer>((resolve) => this.#waiting.set(id, resolve)));
    this.#answers.delete(id);
    this.#waiting.delete(id);
    return answer;
  }

  async initialize(): Promise<void> {
    await this.ask({
      id: 'start',
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    });
    this.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  /** Closes stdin, waits for the server and returns its exit code. */
  async end(): Promise<number | null> {
    this.stdin.end();
    return this.#ended;
  }
}

/** A {@link LineClient} of a server that is a process of its own. */
export class LineProcess extends LineClient {
  readonly child: ChildProcess;

  constructor(home: string, extra: Record<string, string> = {}) {
    let started: ChildProcess;
    super(home, extra, (env) => {
      const child = spawn(process.execPath, [command], { env });
      started = child;
      const { stdin, stdout, stderr } = child;
      return { stdin, stdout, stderr, ended: once(child, 'close').then(([code]) => code) };
    });
    this.child = started!;
  }

  /** Returns the resident memory now and at its peak, in MB; 0 on other systems than Linux. */
  memory(): { now: number; peak: number } {
    if (process.platform !== 'linux') return { now: 0, peak: 0 };
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    const read = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
    return { now: read('VmRSS'), peak: read('VmHWM') };
  }
}
