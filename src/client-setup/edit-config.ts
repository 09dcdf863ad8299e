import { isDeepStrictEqual } from 'node:util';
import { notConfigured } from '../core/errors.ts';
import { isJsonObject, type Members } from '../core/json/json-object.ts';
import { memberAt, ownMember } from '../core/json/member-at.ts';
import { editJson, parseJson } from './edit-json.ts';
import { editToml, parseToml } from './edit-toml.ts';
import { type Edit, type Entry, isSameKind } from './entry.ts';

const formats = { json: { parse: parseJson, edit: editJson }, toml: { parse: parseToml, edit: editToml } };

/**
 * Adds, updates or removes one entry of a client's configuration file. Keeps everything else: comments, formatting, byte
 * order mark, line ends, other servers, and members of the entry that heddle does not write.
 * @returns the new text, which equals the old one if nothing had to change.
 * @throws HeddleError `not_configured` for text that is malformed or cannot be edited safely.
 */
export function editConfig(text: string, edit: Edit): string {
  const byteOrderMark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const body = text.slice(byteOrderMark.length);
  const format = formats[edit.format];
  const { [edit.servers]: serversBefore = {}, ...others } = asMembers(format.parse(body), 'The file');
  const servers = asMembers(serversBefore, `"${edit.servers}" of the file`);
  const expectedServers = editServers(servers, edit);
  if (isDeepStrictEqual(servers, expectedServers)) return text;

  const after = format.edit(body, { ...edit, existing: ownMember(servers, edit.name) });
  // Unusual files can defeat the edit, so a result that says anything but what is expected is never written.
  try {
    const { [edit.servers]: serversAfter = {}, ...othersAfter } = format.parse(after) as Members;
    if (isDeepStrictEqual([serversAfter, othersAfter], [expectedServers, others])) return byteOrderMark + after;
  } catch {
    // The edit made the file invalid.
  }
  throw notConfigured(
    'The file cannot be changed without risk to the rest of its content. It was not changed.',
    'Print the entry with --print and add it by hand.',
  );
}

/** Returns the value at a path of a client's file; undefined if there is none. @throws HeddleError `not_configured` for malformed text. */
export function readMember(text: string, format: Edit['format'], path: readonly string[]): unknown {
  return memberAt(formats[format].parse(text.replace(/^\ufeff/, '')), path);
}

/** Returns true if a file holds nothing but one entry as heddle writes it, so that removing the file loses nothing. */
export function isOwnConfig(text: string, { entry: _, ...edit }: Edit): boolean {
  const existing = readMember(text, edit.format, [edit.servers, edit.name]) as Entry | undefined;
  return existing !== undefined && editConfig('', { ...edit, entry: existing }) === text;
}

/** Returns true if a file holds no values and no comments. */
export function isEmptyConfig(text: string): boolean {
  return text.replaceAll(/[\s{}\ufeff]/g, '') === '';
}

function editServers(servers: Members, { name, entry }: Edit): Members {
  const existing = ownMember(servers, name);
  const { [name]: _, ...others } = servers;
  if (entry === undefined) return others;
  return { ...others, [name]: isSameKind(existing, entry) ? { ...existing, ...entry } : entry };
}

function asMembers(value: unknown, name: string): Members {
  if (isJsonObject(value)) return { ...value };
  throw notConfigured(
    `${name} is not a table of names and values. It was not changed.`,
    'Fix the file by hand, or print the entry with --print and add it yourself.',
  );
}
