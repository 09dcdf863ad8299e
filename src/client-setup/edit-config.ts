import { isDeepStrictEqual } from 'node:util';
import { HeddleError } from '../core/errors.ts';
import { editJson, parseJson } from './edit-json.ts';
import { editToml, parseToml } from './edit-toml.ts';

/** How a client starts heddle. */
export interface Entry {
  type?: 'stdio';
  command: string;
  args: string[];
}

/** What is to become of one entry: this one, or none. */
export interface Edit {
  format: 'json' | 'toml';
  /** Member that holds the servers. */
  servers: string;
  /** Name of the server in it. */
  name: string;
  entry: Entry | undefined;
}

type Members = Record<string, unknown>;

const formats = { json: { parse: parseJson, change: editJson }, toml: { parse: parseToml, change: editToml } };

/**
 * Makes one entry of a client's configuration say what it shall, and touches nothing else: comments, formatting, byte
 * order mark, line ends and other servers stay. Of an entry that is there already, members that heddle does not write
 * stay too.
 * @returns the new text; the same text when there is nothing to do.
 * @throws HeddleError `not_configured` for a text that is malformed, or of a form that cannot be edited for certain.
 */
export function editConfig(text: string, edit: Edit): string {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const body = text.slice(mark.length);
  const { parse, change } = formats[edit.format];
  const before = asMembers(parse(body), 'The file');
  const servers = asMembers(before[edit.servers] ?? {}, `"${edit.servers}" of the file`);
  const wanted = wantedServers(servers, edit);
  if (isDeepStrictEqual(servers, wanted)) return text;

  const after = change(body, { ...edit, existing: servers[edit.name] });
  // Whatever the shape of the file was: what comes out must say what was wanted and nothing else, or it is not written.
  const { [edit.servers]: was, ...others } = before;
  const expected = { ...others, [edit.servers]: wanted };
  let found: unknown;
  try {
    found = parse(after);
  } catch (error) {
    throw notEditable(error);
  }
  const emptied = was !== undefined && Object.keys(wanted).length === 0 && isDeepStrictEqual(found, others);
  if (!emptied && !isDeepStrictEqual(found, expected)) throw notEditable();
  return mark + after;
}

/** Whether a configuration holds nothing but an entry as heddle writes it: removing such a file loses nothing. */
export function isOwnConfig(text: string, { entry: _, ...edit }: Edit): boolean {
  const existing = asMembers(asMembers(formats[edit.format].parse(text), 'The file')[edit.servers] ?? {}, 'It')[
    edit.name
  ];
  return isLocal(existing) && editConfig('', { ...edit, entry: existing as unknown as Entry }) === text;
}

/** Whether a configuration says nothing, not even in a comment. */
export function isEmptyConfig(text: string): boolean {
  return text.replaceAll(/[\s{}\ufeff]/g, '') === '';
}

function wantedServers(servers: Members, { name, entry }: Edit): Members {
  const { [name]: existing, ...others } = servers;
  if (entry === undefined) return others;
  return { ...others, [name]: isLocal(existing) ? { ...existing, ...entry } : entry };
}

/** An entry of a server that the client starts itself; one with a URL shares no member with ours. */
export function isLocal(existing: unknown): existing is Members {
  return typeof existing === 'object' && existing !== null && 'command' in existing;
}

function asMembers(value: unknown, what: string): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new HeddleError({
    code: 'not_configured',
    message: `${what} is not a table of names and values. It was left as it is.`,
    hint: 'Correct the file by hand, or print the entry with --print and put it in yourself.',
  });
}

function notEditable(cause?: unknown): HeddleError {
  return new HeddleError({
    code: 'not_configured',
    message:
      'The file is written in a form that cannot be changed without risk to the rest of it. It was left as it is.',
    hint: 'Print the entry with --print and put it in by hand.',
    cause,
  });
}
