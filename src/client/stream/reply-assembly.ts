import { isJsonObject, type Members } from '../../core/json/json-object.ts';
import type { Steps } from '../../core/turns.ts';

/** Returns an object that inherits nothing: the names of its members come from outside. */
const newMembers = (members?: Members): Members => Object.assign(Object.create(null), members);

/** Members whose strings arrive whole: a repeated one must not be appended to itself. */
const wholeMembers = new Set(['role', 'id', 'type', 'name', 'object', 'format']);
/** Members that are handled separately, that pad single chunks, or that are unsafe to set. */
const skippedMembers = new Set(['choices', 'obfuscation', '__proto__']);

/** Members and entries that are merged in one step. */
const mergedPerStep = 1000;

/**
 * Assembles the chunks of a streamed chat completion into the reply that the same request would get without streaming.
 * Joins text, extends lists, matches choices and tool calls by `index`, and keeps the last value of other members.
 */
export class ReplyAssembly {
  readonly #reply = newMembers();
  readonly #choices = new Map<number, Members>();
  /** Number of characters so far in all choices, including reasoning and the arguments of tool calls. */
  characters = 0;
  #merged = 0;

  /** Adds a parsed chunk, in steps that take a millisecond or so each. */
  *add(chunk: Members): Steps<void> {
    for (const [name, value] of Object.entries(chunk)) {
      if (!skippedMembers.has(name) && !(value === null && name in this.#reply)) this.#reply[name] = value;
    }
    if (!Array.isArray(chunk.choices)) return;
    for (const part of chunk.choices.filter(isJsonObject)) {
      if (this.#isStepDone()) yield;
      const index = typeof part.index === 'number' ? part.index : 0;
      const choice = this.#choices.get(index) ?? newMembers({ index });
      this.#choices.set(index, choice);
      for (const [name, value] of Object.entries(part)) {
        if (name === 'delta') {
          choice.message = yield* this.#merge(choice.message, isJsonObject(value) ? value : {}, 'message');
        } else if (name === 'logprobs') {
          const { characters } = this;
          choice.logprobs = yield* this.#merge(choice.logprobs, value, name);
          this.characters = characters;
        } else if (name === 'text') choice.text = yield* this.#merge(choice.text, value, name);
        else if (!skippedMembers.has(name) && (value !== null || !(name in choice))) choice[name] = value;
      }
    }
  }

  #isStepDone(): boolean {
    this.#merged += 1;
    return this.#merged % mergedPerStep === 0;
  }

  /** Returns the value of a member after its next part, and counts the characters of the part. Null adds nothing. */
  *#merge(before: unknown, part: unknown, name: string): Steps<unknown> {
    if (Array.isArray(part)) {
      const list = Array.isArray(before) ? before : [];
      for (const entry of part) {
        if (this.#isStepDone()) yield;
        if (isJsonObject(entry)) yield* this.#addEntry(list, entry, name);
        else list.push(this.#mergeLeaf(undefined, entry, name));
      }
      return list;
    }
    if (!isJsonObject(part)) return this.#mergeLeaf(before, part, name);
    const members = isJsonObject(before) ? before : newMembers();
    for (const [member, value] of Object.entries(part)) {
      if (this.#isStepDone()) yield;
      if (skippedMembers.has(member)) continue;
      const isLeaf = typeof value !== 'object' || value === null;
      members[member] = isLeaf
        ? this.#mergeLeaf(members[member], value, member)
        : yield* this.#merge(members[member], value, member);
    }
    return members;
  }

  #mergeLeaf(before: unknown, part: unknown, name: string): unknown {
    if (part === null || part === undefined) return before === undefined ? part : before;
    if (typeof part !== 'string') return part;
    this.characters += part.length;
    if (typeof before !== 'string') return part;
    return wholeMembers.has(name) ? part || before : before + part;
  }

  /** Adds an object to a list. Tool calls, and entries with an `index`, arrive in parts; all others arrive whole. */
  *#addEntry(list: unknown[], entry: Members, name: string): Steps<void> {
    const positions = positionsOf.get(list) ?? new Map<unknown, number>();
    positionsOf.set(list, positions);
    const known = name === 'tool_calls' ? positionOfToolCall(list, positions, entry) : positions.get(indexOf(entry));
    const at = known ?? list.length;
    list[at] = yield* this.#merge(known === undefined ? {} : list[at], entry, name);
    for (const key of keysOf(entry, name)) positions.set(key, Math.max(at, positions.get(key) ?? 0));
  }

  /** Text of the first choice so far. */
  get text(): string {
    const { message, text } = this.#choices.get(0) ?? {};
    const content = isJsonObject(message) ? message.content : text;
    return typeof content === 'string' ? content : '';
  }

  /** True once any choice has arrived. */
  get begun(): boolean {
    return this.#choices.size > 0;
  }

  /** True once there is a choice and every choice has its `finish_reason`. */
  get finished(): boolean {
    const choices = [...this.#choices.values()];
    return choices.length > 0 && choices.every((choice) => typeof choice.finish_reason === 'string');
  }

  /** Returns the reply, with its choices sorted by index. */
  reply(): Members {
    const choices = [...this.#choices.values()].sort((a, b) => (a.index as number) - (b.index as number));
    for (const { message } of choices) {
      const toolCalls = isJsonObject(message) && Array.isArray(message.tool_calls) ? message.tool_calls : [];
      for (const toolCall of toolCalls.filter(isJsonObject)) delete toolCall.index;
    }
    const object = this.#reply.object === 'chat.completion.chunk' ? 'chat.completion' : this.#reply.object;
    return { ...this.#reply, ...(object !== undefined && { object }), choices };
  }
}

/** Positions of the entries of a list by the keys of their parts; a search would take ever longer. */
const positionsOf = new WeakMap<unknown[], Map<unknown, number>>();

/**
 * Returns the position of the earlier parts of a tool call. Some services send no index, or the same one for every tool
 * call. Then the id decides, and a part without an id continues the latest tool call.
 */
function positionOfToolCall(
  list: readonly unknown[],
  positions: ReadonlyMap<unknown, number>,
  { index, id }: Members,
): number | undefined {
  const latest = positions.get(typeof index === 'number' ? index : latestKey);
  if (!isId(id)) return latest;
  const withId = positions.get(idKey(index, id));
  const latestHasId = latest !== undefined && Boolean((list[latest] as Members).id);
  return withId ?? (latestHasId ? undefined : latest);
}

const latestKey = Symbol('latest');
const isId = (id: unknown): id is string => typeof id === 'string' && id !== '';
const indexOf = ({ index }: Members): number | undefined => (typeof index === 'number' ? index : undefined);
const idKey = (index: unknown, id: string): string => `${typeof index === 'number' ? index : ''} ${id}`;

/** Returns the keys under which later parts of an entry look for it. */
function keysOf({ index, id }: Members, name: string): unknown[] {
  const indices = typeof index === 'number' ? [index] : [];
  if (name !== 'tool_calls') return indices;
  return [latestKey, ...indices, ...(isId(id) ? [idKey(undefined, id), idKey(index, id)] : [])];
}
