import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';

const folder = fileURLToPath(new URL('../packages/weave-sdk/', import.meta.url));

/** A program that records with the public service's SDK. It ends with the test. */
export class Recorder {
  readonly #child: ChildProcess;
  readonly #results: AsyncIterator<string>;
  #printed = '';

  constructor(url: string, password: string) {
    const home = temporaryFolder();
    this.#child = spawn(process.execPath, [`${folder}recorder.mjs`], {
      env: emptyHome(home, { WF_TRACE_SERVER_URL: url, WANDB_API_KEY: password }),
      // The SDK writes weaveErrors.log into its folder.
      cwd: home,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    onTestFinished(() => void this.#child.kill('SIGKILL'));
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#printed += text;
    });
    this.#results = this.#readResults();
  }

  /** The lines that the SDK has printed so far, such as its retries. */
  get printed(): string {
    return this.#printed;
  }

  async *#readResults(): AsyncGenerator<string, void, undefined> {
    for await (const line of createInterface({ input: this.#child.stdout! })) {
      if (line.startsWith('@@')) yield line.slice(2);
      else this.#printed += `${line}\n`;
    }
  }

  /** Runs a step of recorder.mjs and returns its result. @throws Error with what the SDK printed, if the step fails. */
  // biome-ignore lint/suspicious/noExplicitAny: steps have results of every shape
  async run(step: string, ...given: unknown[]): Promise<any> {
    this.#child.stdin!.write(`${JSON.stringify({ step, arguments: given })}\n`);
    const { done, value } = await this.#results.next();
    if (done) throw new Error(`the program ended during ${step}: ${this.#printed}`);
    const { result, error } = JSON.parse(value);
    if (error !== undefined) throw new Error(`${step} failed: ${error}\n${this.#printed}`);
    return result;
  }
}
