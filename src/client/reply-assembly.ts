type Members = Record<string, unknown>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Puts the chunks of a streamed chat completion together into the reply that the same request would have got without
 * streaming: text is joined, choices and tool calls are told apart by their `index`, `usage` and everything else is as
 * the last chunk has it.
 */
export class ReplyAssembly {
  readonly #reply: Members = {};
  readonly #choices = new Map<number, Members>();
  /** Text of the first choice received so far. */
  text = '';

  /** Takes one parsed chunk in. */
  add(chunk: Members): void {
    for (const [name, value] of Object.entries(chunk)) {
      if (name !== 'choices' && !(value === null && name in this.#reply)) this.#reply[name] = value;
    }
    if (!Array.isArray(chunk.choices)) return;
    for (const part of chunk.choices.filter(isObject)) {
      const index = typeof part.index === 'number' ? part.index : 0;
      const choice = this.#choices.get(index) ?? { index, message: {} };
      this.#choices.set(index, choice);
      for (const [name, value] of Object.entries(part)) {
        if (name === 'delta') mergeDelta(choice.message as Members, isObject(value) ? value : {});
        else if (name === 'logprobs') choice.logprobs = mergeLogprobs(choice.logprobs, value);
        else if (value !== null || !(name in choice)) choice[name] = value;
      }
      const content = (choice.message as Members).content;
      if (index === 0 && typeof content === 'string') this.text = content;
    }
  }

  /** Whether every choice seen so far has its `finish_reason`, and there is one. */
  get finished(): boolean {
    const choices = [...this.#choices.values()];
    return choices.length > 0 && choices.every((choice) => typeof choice.finish_reason === 'string');
  }

  /** The reply, with choices in the order of their indices. */
  reply(): Members {
    const choices = [...this.#choices.values()].sort((a, b) => (a.index as number) - (b.index as number));
    for (const choice of choices) {
      const { message } = choice as { message: Members };
      if (Array.isArray(message.tool_calls)) message.tool_calls = message.tool_calls.map(withoutIndex);
    }
    const object = this.#reply.object === 'chat.completion.chunk' ? 'chat.completion' : this.#reply.object;
    return { ...this.#reply, ...(object !== undefined && { object }), choices };
  }
}

function withoutIndex(call: unknown): unknown {
  if (!isObject(call)) return call;
  const { index: _, ...rest } = call;
  return rest;
}

function mergeDelta(message: Members, delta: Members): void {
  for (const [name, value] of Object.entries(delta)) {
    const before = message[name];
    if (name === 'tool_calls' && Array.isArray(value)) message.tool_calls = mergeToolCalls(before, value);
    else if (name === 'function_call' && isObject(value)) message.function_call = mergeText(before, value);
    else if (typeof before === 'string' && typeof value === 'string' && name !== 'role') message[name] = before + value;
    else if (value !== null || !(name in message)) message[name] = value;
  }
}

function mergeToolCalls(before: unknown, parts: unknown[]): unknown[] {
  const calls = Array.isArray(before) ? before.filter(isObject) : [];
  for (const part of parts.filter(isObject)) {
    const index = typeof part.index === 'number' ? part.index : calls.length;
    const call = calls.find((candidate) => candidate.index === index);
    if (!call) calls.push({ ...part, index });
    else {
      for (const [name, value] of Object.entries(part)) {
        if (name === 'function' && isObject(value)) call.function = mergeText(call.function, value);
        else if (value !== null) call[name] = value;
      }
    }
  }
  return calls.sort((a, b) => (a.index as number) - (b.index as number));
}

/** Joins `arguments` piece by piece; a name comes whole. */
function mergeText(before: unknown, part: Members): Members {
  const merged: Members = isObject(before) ? before : {};
  for (const [name, value] of Object.entries(part)) {
    const text = merged[name];
    if (name === 'arguments' && typeof text === 'string' && typeof value === 'string') merged[name] = text + value;
    else if (value !== null) merged[name] = value;
  }
  return merged;
}

function mergeLogprobs(before: unknown, part: unknown): unknown {
  if (!isObject(before) || !isObject(part)) return part ?? before;
  const merged: Members = { ...before };
  for (const [name, value] of Object.entries(part)) {
    const list = merged[name];
    merged[name] = Array.isArray(list) && Array.isArray(value) ? [...list, ...value] : (value ?? list);
  }
  return merged;
}
