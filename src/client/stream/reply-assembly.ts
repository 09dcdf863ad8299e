type Members = Record<string, unknown>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Texts that name something and come whole: said again, they must not be joined to themselves. */
const wholeTexts = new Set(['role', 'id', 'type', 'name', 'object', 'format']);
/** Padding of single chunks, which no reply in one piece has; and the one name that cannot be set like others. */
const leftOut = new Set(['choices', 'obfuscation', '__proto__']);

/**
 * Puts the chunks of a streamed chat completion together into the reply that the same request would have got without
 * streaming: text is joined, lists grow, choices and tool calls are told apart by their `index`, and what stands beside
 * the choices (`usage` above all) is as the last chunk has it.
 */
export class ReplyAssembly {
  readonly #reply: Members = {};
  readonly #choices = new Map<number, Members>();
  /** Characters received so far in all texts of all choices, reasoning and arguments of tool calls included. */
  received = 0;

  /** Takes one parsed chunk in. */
  add(chunk: Members): void {
    for (const [name, value] of Object.entries(chunk)) {
      if (!leftOut.has(name) && !(value === null && name in this.#reply)) this.#reply[name] = value;
    }
    if (!Array.isArray(chunk.choices)) return;
    for (const part of chunk.choices.filter(isObject)) {
      const index = typeof part.index === 'number' ? part.index : 0;
      const choice = this.#choices.get(index) ?? { index };
      this.#choices.set(index, choice);
      for (const [name, value] of Object.entries(part)) {
        if (name === 'delta') choice.message = merged(choice.message ?? {}, isObject(value) ? value : {}, 'message');
        else if (name === 'logprobs' || name === 'text') choice[name] = merged(choice[name], value, name);
        else if (!leftOut.has(name) && (value !== null || !(name in choice))) choice[name] = value;
      }
      this.received += charactersOf(part.delta) + charactersOf(part.text);
    }
  }

  /** Text of the first choice received so far. */
  get text(): string {
    const { message, text } = this.#choices.get(0) ?? {};
    const content = isObject(message) ? message.content : text;
    return typeof content === 'string' ? content : '';
  }

  /** Whether there is a choice at all. */
  get begun(): boolean {
    return this.#choices.size > 0;
  }

  /** Whether every choice seen so far has its `finish_reason`, and there is one. */
  get finished(): boolean {
    const choices = [...this.#choices.values()];
    return choices.length > 0 && choices.every((choice) => typeof choice.finish_reason === 'string');
  }

  /** The reply, with choices in the order of their indices. */
  reply(): Members {
    const choices = [...this.#choices.values()].sort((a, b) => (a.index as number) - (b.index as number));
    for (const { message } of choices) {
      if (isObject(message) && Array.isArray(message.tool_calls)) {
        message.tool_calls = message.tool_calls.map(withoutIndex);
      }
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

function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, member) => sum + charactersOf(member), 0);
}

/** What was received so far of a member, with the next part of it. Null adds nothing. */
function merged(before: unknown, part: unknown, name: string): unknown {
  if (part === null || part === undefined) return before === undefined ? part : before;
  if (typeof part === 'string' && typeof before === 'string') {
    return wholeTexts.has(name) ? part || before : before + part;
  }
  if (Array.isArray(part)) {
    const list = Array.isArray(before) ? before : [];
    for (const entry of part) addEntry(list, entry, name);
    return list;
  }
  if (!isObject(part)) return part;
  const members = isObject(before) ? before : {};
  for (const [member, value] of Object.entries(part)) {
    if (!leftOut.has(member)) members[member] = merged(members[member], value, member);
  }
  return members;
}

/** Entries that carry an `index` come in parts, and so do tool calls, whatever they carry; all others come whole. */
function addEntry(list: unknown[], entry: unknown, name: string): void {
  const known = isObject(entry) ? placeOf(list, entry, name) : -1;
  if (known >= 0) list[known] = merged(list[known], entry, name);
  else if (isObject(entry)) list.push(merged({}, entry, name));
  else list.push(entry);
}

function placeOf(list: unknown[], entry: Members, name: string): number {
  const { index, id } = entry;
  const hasId = typeof id === 'string' && id !== '';
  if (name !== 'tool_calls') {
    return typeof index === 'number' ? list.findIndex((other) => isObject(other) && other.index === index) : -1;
  }
  // Some services send no index, or the same for every call: then the id tells calls apart, and a part without an id
  // goes on with the latest call.
  return list.findLastIndex((other) => {
    if (!isObject(other) || (typeof index === 'number' && other.index !== index)) return false;
    return !hasId || !other.id || other.id === id;
  });
}
