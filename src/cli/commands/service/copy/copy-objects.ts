import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../../core/json/canonical-json.ts';
import { tablesIn } from './copied-names.ts';
import { type ProjectCopy, sendInHalves } from './project-copy.ts';

/** Copies the files. The same bytes are the same file, so all of them are sent. */
export async function copyFiles({ reader, target, names, tally, isDryRun }: ProjectCopy): Promise<void> {
  if (isDryRun) return;
  for await (const digest of reader.files()) {
    const file = await reader.file(digest);
    const body = { project_id: names.target_id, file };
    const send = async (): Promise<void> => {
      const stored = await target.call('createFile', { body });
      if (stored.digest !== digest) tally.change('files', 'another digest, which no object names', digest);
      tally.count('files', { copied: 1 });
    };
    await sendInHalves([digest], send, (_, { message }) => tally.leave('files', message, digest));
  }
}

/** Number of rows, and of the characters of their JSON, that one request has. */
const maxRows = 10_000;
const maxChars = 4 * 1024 * 1024;

interface CopiedRow {
  /** Digest of the row here. */
  digest: string;
  val: Record<string, unknown>;
}

/** Copies a list of rows, unless that is done. A list of the same digest at the target is the same. */
async function copyTable(copy: ProjectCopy, digest: string): Promise<void> {
  const { target, names, tally, isDryRun } = copy;
  const { project_id, digests } = { project_id: names.target_id, digests: names.digests };
  if (digests.tables.has(digest)) return;
  const { count } = await target.call('countTableRows', { body: { project_id, digest } });
  if (count > 0 && (await isSameAtTarget(copy, digest))) {
    digests.tables.set(digest, digest);
    return tally.count('tables', { there: 1 });
  }
  if (isDryRun) return;
  const store = async (): Promise<void> => {
    const stored: string[] = [];
    let whole: string | undefined;
    for await (const rows of rowsToSend(copy, digest)) {
      const body = { table: { project_id, rows: rows.map(({ val }) => val) } };
      const { digest: part, row_digests } = await target.call('createTable', { body });
      whole = stored.length === 0 ? part : undefined;
      for (const [at, row] of rows.entries()) {
        const there = row_digests?.[at] ?? row.digest;
        if (there !== row.digest) digests.rows.set(row.digest, there);
        stored.push(there);
      }
    }
    // A list that is too long for one request consists of the rows that several have stored.
    const body = { project_id, row_digests: stored };
    digests.tables.set(digest, whole ?? (await target.call('createTableFromDigests', { body })).digest);
    tally.count('tables', { copied: 1 });
  };
  await sendInHalves([digest], store, (_, { message }) => tally.leave('tables', message, digest));
}

/** Returns whether no row refers to what has another name at the target. */
async function isSameAtTarget({ reader, names }: ProjectCopy, digest: string): Promise<boolean> {
  for await (const rows of reader.rows(digest)) {
    if (rows.some(({ val }) => names.value(val) !== val)) return false;
  }
  return true;
}

/** Yields the rows of a list, as many as one request may have; at least once, so that an empty list is stored. */
async function* rowsToSend({ reader, names }: ProjectCopy, digest: string): AsyncGenerator<CopiedRow[]> {
  let rows: CopiedRow[] = [];
  let chars = 0;
  for await (const batch of reader.rows(digest)) {
    for (const row of batch) {
      const val = names.value(row.val) as CopiedRow['val'];
      const rowChars = JSON.stringify(val).length;
      if (rows.length === maxRows || (rows.length > 0 && chars + rowChars > maxChars)) {
        yield rows;
        rows = [];
        chars = 0;
      }
      rows.push({ digest: row.digest, val });
      chars += rowChars;
    }
  }
  yield rows;
}

/** Copies the versions of all objects, in their order, and the lists of rows, those first to which a version refers. */
export async function copyObjects(copy: ProjectCopy): Promise<void> {
  const { reader, target, names, tally, isDryRun } = copy;
  const tables = new Set<string>();
  for await (const { digest } of reader.tables()) tables.add(digest);
  const atTarget = await VersionsAtTarget.list(copy);
  const create = async (object_id: string, val: unknown): Promise<string> => {
    const obj = { project_id: names.target_id, object_id, val };
    const { digest } = await target.call('createObject', { body: { obj } });
    atTarget.newest.set(object_id, digest);
    return digest;
  };
  const last = new Map<string, { there: string; val: unknown }>();
  const copies = new Set<string>();
  for (const version of await reader.versions()) {
    const { object_id, digest } = version;
    const val = await reader.version(version);
    if (val === undefined) continue;
    for (const table of tablesIn(val, names.project_id)) {
      if (tables.has(table)) await copyTable(copy, table);
    }
    const copied = names.value(val);
    const known = await atTarget.find(object_id, copied, copied === val ? digest : undefined);
    const note = (there: string): void => {
      names.digests.versions.set(`${object_id}:${digest}`, there);
      last.set(object_id, { there, val: copied });
      copies.add(`${object_id}:${there}`);
    };
    if (known !== undefined) {
      note(known);
      tally.count('objects', { there: 1 });
    } else if (!isDryRun) {
      const store = async (): Promise<void> => {
        note(await create(object_id, copied));
        tally.count('objects', { copied: 1 });
      };
      const label = `${object_id}:v${version.version_index}`;
      await sendInHalves([version], store, (_, { message }) => tally.leave('objects', message, label));
    }
  }
  // A version that has been published again here since the last copy becomes the newest there too, unless somebody stored another.
  for (const [object_id, { there, val }] of last) {
    const newest = atTarget.newest.get(object_id);
    if (!isDryRun && newest !== there && copies.has(`${object_id}:${newest}`)) await create(object_id, val);
  }
  for (const table of tables) await copyTable(copy, table);
}

const versionsPerPage = 1000;

/** The versions of objects that the target has, among which those of an earlier copy are found by their content. */
class VersionsAtTarget {
  readonly #copy: ProjectCopy;
  /** The digests by objects, with a hash of the content of those that have been read. */
  readonly #digests = new Map<string, Map<string, string | undefined>>();
  /** The digest of the newest version of each object. */
  readonly newest = new Map<string, string>();

  private constructor(copy: ProjectCopy) {
    this.#copy = copy;
  }

  static async list(copy: ProjectCopy): Promise<VersionsAtTarget> {
    const versions = new VersionsAtTarget(copy);
    const { target, names } = copy;
    for (let offset = 0; ; offset += versionsPerPage) {
      const page = { limit: versionsPerPage, offset, metadata_only: true };
      const { objs } = await target.call('queryObjects', { body: { project_id: names.target_id, ...page } });
      for (const { object_id, digest, is_latest } of objs) {
        if (is_latest) versions.newest.set(object_id, digest);
        const digests = versions.#digests.get(object_id) ?? new Map<string, string | undefined>();
        versions.#digests.set(object_id, digests.set(digest, undefined));
      }
      if (objs.length < versionsPerPage) return versions;
    }
  }

  /**
   * Returns the digest of the version of an object with this content; undefined if there is none. Storing it again could make an
   * old version the newest.
   * @param digest the digest of the content here, which the target may compute from other text.
   */
  async find(object_id: string, content: unknown, digest: string | undefined): Promise<string | undefined> {
    const digests = this.#digests.get(object_id);
    if (!digests) return undefined;
    if (digest !== undefined && digests.has(digest)) return digest;
    const wanted = hashOf(content);
    const { target, names } = this.#copy;
    for (const [there, known] of digests) {
      let hash = known;
      if (hash === undefined) {
        const body = { project_id: names.target_id, object_id, digest: there };
        const { obj } = await target.call('readObject', { body });
        hash = hashOf(obj.val);
        digests.set(there, hash);
      }
      if (hash === wanted) return there;
    }
    return undefined;
  }
}

function hashOf(content: unknown): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}
