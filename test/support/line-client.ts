import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { command, emptyHome } from './heddle.ts';

type Answer = { id?: unknown; result?: Record<string, unknown>; error?: { code: number; message: string } };

/** A client of a stdio server process that writes raw lines. */
export class LineClient {
  readonly child: ChildProcess;
  stderr = '';
  /** Lines of stdout that are not JSON-RPC messages. */
  readonly noise: string[] = [];
  readonly #answers = new Map<unknown, Answer>();
  readonly #waiting = new Map<unknown, (answer: Answer) => void>();

  constructor(home: string, extra: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [command], { env: emptyHome(home, { HEDDLE_LOG_FORMAT: 'json', ...extra }) });
    this.child.stderr!.on('data', (bytes) => {
      this.stderr += bytes;
    });
    this.child.stdin!.on('error', () => {});
    createInterface({ input: this.child.stdout! }).on('line', (line) => {
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
    this.child.stdin!.write(bytes);
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

  /** Returns the resident memory now and at its peak, in MB; 0 on other systems than Linux. */
  memory(): { now: number; peak: number } {
    if (process.platform !== 'linux') return { now: 0, peak: 0 };
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    const read = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
    return { now: read('VmRSS'), peak: read('VmHWM') };
  }

  /** Closes stdin, waits for the process and returns its exit code. */
  async end(): Promise<number | null> {
    const closed = once(this.child, 'close');
    this.child.stdin!.end();
    const [code] = await closed;
    return code;
  }
}
