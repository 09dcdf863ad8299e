import * as z from 'zod';
import type { RecordedCall } from '../contract/calls.ts';
import { isJsonObject, type Members } from '../core/json/json-object.ts';
import { ownMember } from '../core/json/member-at.ts';

/** A path to a value of a recorded call. */
export const callPath = z.string().min(1).max(500);
/** Maximum number of paths to values of one call; each of them is looked up, and its value is written. */
export const maxPaths = 100;

/** Splits a path like `inputs.messages[0].content` into names and indices. */
export function pathSegments(path: string): string[] {
  return path.replace(/\[(-?\d+)\]/g, '.$1').split('.');
}

/** Returns the name of a member that a path means: an index like -1 counts from the end of a list. */
export function memberName(parent: unknown, segment: string): string {
  return Array.isArray(parent) && /^-\d+$/.test(segment) ? String(parent.length + Number(segment)) : segment;
}

/**
 * Returns the value of a recorded call at a path like `inputs.subject` or `inputs.messages[-1].content`; undefined when
 * there is none. Inherited members are ignored.
 */
export function valueAt(call: RecordedCall, path: string): unknown {
  return pathSegments(path).reduce<unknown>((at, segment) => ownMember(at, memberName(at, segment)), call);
}

/** Members of a value that are named, and characters of a name. */
const maxMembers = 20;
const maxMemberChars = 80;

/**
 * Returns where a path that does not exist ends: the path of the last value on it, and the names of what that value has. For
 * a list the names are its first and last index.
 */
export function endOfPath(call: RecordedCall, path: string): { at: string; members: string[] } {
  const segments = pathSegments(path);
  let known = segments.length - 1;
  while (known > 0 && valueAt(call, segments.slice(0, known).join('.')) === undefined) known -= 1;
  const at = segments.slice(0, known).join('.');
  // The names of most use come first.
  const { inputs, output, ...rest } = call;
  const value = known === 0 ? { inputs, output, ...rest } : valueAt(call, at);
  if (Array.isArray(value))
    return { at, members: value.length > 1 ? ['0', `${value.length - 1}`] : Object.keys(value) };
  const members = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  return { at, members: members.slice(0, maxMembers).map((name) => String(cutValue(name, maxMemberChars))) };
}

/** The ending of a value that was cut, and characters that it has at most. */
const cutMark = /…\[\+(\d+) characters\]$/;
const maxMarkChars = 40;

/**
 * Cuts a value to about `maxChars` characters and says how many are missing, with those that were cut off before. A value that
 * is not a string is returned unchanged if its JSON is short enough. Otherwise a list loses entries and of an object the long members
 * are cut; without room for any it becomes cut JSON text.
 */
export function cutValue(value: unknown, maxChars: number): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === undefined || text.length <= maxChars) return value;
  if (Array.isArray(value)) return cutList(value, maxChars);
  return isJsonObject(value) ? cutObject(value, maxChars) : cutText(text, maxChars);
}

function cutText(text: string, maxChars: number): string {
  const [mark = '', before = 0] = cutMark.exec(text.slice(-maxMarkChars)) ?? [];
  const uncut = text.length - mark.length;
  const kept = Math.min(maxChars, uncut);
  return `${text.slice(0, kept).toWellFormed()}…[+${uncut - kept + Number(before)} characters]`;
}

/** The entry that stands for those that were cut off a list. */
const entriesMark = /^…\[\+(\d+) entries\]$/;

/**
 * Keeps the first entries of a list, or the last ones of a talk, whose end says most. An entry that is too long by itself is cut.
 */
function cutList(list: readonly unknown[], maxChars: number): unknown[] {
  const isMark = (entry: unknown): entry is string => typeof entry === 'string' && entriesMark.test(entry);
  const entries = list.filter((entry) => !isMark(entry));
  const isTalk = entries.every((entry) => isJsonObject(entry) && typeof entry.role === 'string');
  const kept: unknown[] = [];
  let left = Math.max(maxChars - `["…[+${entries.length} entries]",]`.length, 1);
  for (const entry of isTalk ? entries.toReversed() : entries) {
    const chars = (JSON.stringify(entry) ?? 'null').length + 1;
    if (chars > left && kept.length > 0) break;
    kept.push(cutValue(entry, left));
    left -= chars;
  }
  const before = list.filter(isMark).reduce((sum, mark) => sum + Number(entriesMark.exec(mark)![1]), 0);
  const missing = entries.length - kept.length + before;
  const mark = missing === 0 ? [] : [`…[+${missing} entries]`];
  return isTalk ? [...mark, ...kept.reverse()] : [...kept, ...mark];
}

/** Characters of a cut member that are worth more than further members. */
const minShare = 20;

/** The member that stands for those that were left out of an object, and its value. */
const membersMark = '…';
const membersMarkValue = /^\[\+(\d+) members\]$/;

/** Cuts the members of an object that are too long to an equal share; where all have no room, the last are left out. */
function cutObject(value: Members, maxChars: number): unknown {
  const { [membersMark]: mark, ...others } = value;
  const before = typeof mark === 'string' ? membersMarkValue.exec(mark)?.[1] : undefined;
  const cut = before === undefined ? cutMost(value, maxChars, 0) : cutMost(others, maxChars, Number(before));
  return cut ?? cutText(JSON.stringify(value), maxChars);
}

/**
 * Cuts an object; undefined if none of its members has room.
 * @param missing members that were left out before.
 */
function cutMost(value: Members, maxChars: number, missing: number): Members | undefined {
  const members = Object.entries(value).map(([name, member]) => ({ name, member, json: JSON.stringify(member) ?? '' }));
  const text = JSON.stringify(value);
  const left = missing > 0 ? { [membersMark]: `[+${missing} members]` } : {};
  if (missing > 0 && text.length <= maxChars) return { ...value, ...left };
  const long = members.filter(({ json }) => json.length > maxChars / (2 * members.length));
  const others = JSON.stringify({ ...value, ...left }).length - long.reduce((sum, { json }) => sum + json.length, 0);
  // The marks of texts with their quotes; lists and objects have the marks of what they lose within their share.
  const texts = long.filter(({ member }) => typeof member !== 'object');
  const marks = texts.reduce((sum, { json }) => sum + `"…[+${json.length} characters]"`.length, 0);
  const share = Math.floor((maxChars - others - marks) / Math.max(long.length, 1));
  if (share >= (members.length === 1 ? 1 : minShare)) {
    const cut = members.map((each) => [each.name, long.includes(each) ? cutValue(each.member, share) : each.member]);
    return { ...Object.fromEntries(cut), ...left };
  }
  if (members.length <= 1) return undefined;
  const kept = members.slice(0, Math.floor(members.length / 2)).map(({ name, member }) => [name, member]);
  return cutMost(Object.fromEntries(kept), maxChars, missing + members.length - kept.length);
}

/** Cuts each member of an object to `maxChars` characters. */
export function cutMembers(value: Members, maxChars: number): Members {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cutValue(member, maxChars)]));
}

/**
 * Returns the values at several paths, each cut to `maxChars`; paths without a value, and paths beyond the limit that a
 * service sends, are omitted.
 */
export function valuesAt(call: RecordedCall, paths: readonly string[], maxChars: number): Record<string, unknown> {
  return Object.fromEntries(
    [...new Set(paths)]
      .filter((path) => path.length <= callPath.maxLength!)
      .slice(0, maxPaths)
      .map((path) => [path, cutValue(valueAt(call, path), maxChars)] as const)
      .filter(([, value]) => value !== undefined),
  );
}
