import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { AssistantMessage, FunctionTool, Message, ToolCall } from './chat-model.ts';

/** The next step of somebody who plays the model: calls, or an answer to the user. */
export type Step = { calls: { name: string; arguments: string }[] } | { say: string };

/** Returns the file with what the player is shown before a step, and the file for the step. */
export const shownFile = (folder: string, step: number): string => join(folder, `${step}.shown.txt`);
export const stepFile = (folder: string, step: number): string => join(folder, `${step}.step.json`);
/** Returns the file that ends the game; it has the table. */
export const endFile = (folder: string): string => join(folder, 'end.txt');

/** Writes a file that nobody sees half written. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.part`, text);
  await rename(`${file}.part`, file);
}

/** A model that somebody plays step by step: `step.ts` shows them what the model would see and takes what it would say. */
export class StepModel {
  readonly #folder: string;
  #step = 0;
  #shownTools = '';

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Shows what is new and waits for the step. */
  async complete(messages: readonly Message[], tools: readonly FunctionTool[]): Promise<AssistantMessage> {
    await mkdir(this.#folder, { recursive: true });
    this.#step += 1;
    const lastOwn = messages.findLastIndex(({ role }) => role === 'assistant');
    const isNewJob = lastOwn < 0;
    const shown = messages.slice(lastOwn + 1).filter(({ role }) => role !== 'system');
    const parts = [
      ...(isNewJob ? [this.#context(messages, tools)] : []),
      ...shown.map(({ role, content }) => `=== ${role === 'tool' ? 'result' : 'message of the user'}\n${content}`),
    ];
    await writeWhole(shownFile(this.#folder, this.#step), `${parts.join('\n\n')}\n`);
    const file = stepFile(this.#folder, this.#step);
    while (!existsSync(file)) await setTimeout(50);
    const step = JSON.parse(await readFile(file, 'utf8')) as Step;
    if ('say' in step) return { role: 'assistant', content: step.say };
    const tool_calls = step.calls.map((call, index): ToolCall => {
      return { id: `call_${this.#step}_${index}`, type: 'function', function: call };
    });
    return { role: 'assistant', content: null, tool_calls };
  }

  /** Returns the instructions and the tools, or a line that says that they are those of the job before. */
  #context(messages: readonly Message[], tools: readonly FunctionTool[]): string {
    const instructions = messages.find(({ role }) => role === 'system')?.content ?? '';
    const listed = tools.map(({ function: tool }) => JSON.stringify(tool)).join('\n');
    const isKnown = this.#shownTools === listed;
    this.#shownTools = listed;
    const title = '=== NEW JOB: everything said and read before is forgotten, and the data are new';
    return [
      title,
      `=== instructions of the server\n${instructions}`,
      `=== tools\n${isKnown ? 'the same as before' : listed}`,
    ].join('\n\n');
  }
}
