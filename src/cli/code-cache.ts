import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';
import envPaths from 'env-paths';

/**
 * A digest of the chunks, which the build fills in, and the name of their folder: V8 compares nothing of a source but
 * its length, so code that was kept of other chunks must have another name.
 */
declare const chunksDigest: string;

interface Chunk {
  exports: object;
  script: Script;
  /** Bytes of the kept code that it was loaded with. */
  kept: number;
}

const chunks = join(import.meta.dirname, 'chunks', chunksDigest);
const nodeRequire = createRequire(import.meta.filename);
const loaded = new Map<string, Chunk>();

// V8 takes only what the same version of it has written, with the same flags. Versions have folders of their own, so that
// two of them do not replace each other's code in turn; flags have not, and there it comes to that.
const caches = envPaths('heddle', { suffix: '' }).cache;
const cache = join(caches, `${chunksDigest}-${process.version}-${process.arch}`);
// The variable of Node's own cache. That one needs Node 22, and keeps less of what a start runs. In a home of another user,
// as root may have it, nothing is run that this user has put there, and nothing left that is in their way.
const isOff = process.env.NODE_DISABLE_COMPILE_CACHE === '1' || !isOurs(homedir());
const sumBytes = 4;

/**
 * Loads a chunk of the server, with the code that V8 compiled for earlier processes: compiling was a quarter of a start.
 * What this process compiles in addition is kept when it ends.
 *
 * @param name the file of the chunk: a function of what a module of CommonJS has (scripts/server-chunks.mjs)
 */
export function load(name: string): object {
  const known = loaded.get(name);
  if (known) return known.exports;
  const file = join(chunks, name);
  const cachedData = isOff ? undefined : keptCode(name);
  // Latin 1, since the build writes nothing but ASCII: V8 then holds a byte for each character.
  const script = new Script(readFileSync(file, 'latin1'), { filename: file, cachedData });
  const chunk = { exports: {}, script, kept: script.cachedDataRejected === false ? cachedData!.length : 0 };
  loaded.set(name, chunk);
  try {
    script.runInThisContext()(chunk.exports, requireFromChunk, chunk);
  } catch (error) {
    // What is loaded by half is loaded again where somebody tries again.
    loaded.delete(name);
    throw error;
  }
  return chunk.exports;
}

function requireFromChunk(id: string): unknown {
  return id.startsWith('./') ? load(id.slice(2)) : nodeRequire(id);
}

/** What an earlier process kept of a chunk, if it is whole: V8 looks at nothing but its length, and crashes on a
 * wrong bit. */
function keptCode(name: string): Buffer | undefined {
  if (!isOurs(cache)) return undefined;
  try {
    const bytes = readFileSync(join(cache, name));
    const code = bytes.subarray(0, -sumBytes);
    return code.length > 0 && crc32(code) === bytes.readUInt32LE(code.length) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a folder is there and belongs to the user of this process; Windows has its own guard on what is the user's. */
function isOurs(folder: string): boolean {
  try {
    const { uid } = statSync(folder);
    return !process.getuid || uid === process.getuid();
  } catch {
    return false;
  }
}

/** Keeps what is compiled of each chunk, where that is more than was kept before. */
function keepCode(): void {
  for (const [name, { script, kept }] of loaded) {
    const code = script.createCachedData();
    // A session that did a little more than the last one is not worth a write.
    if (code.length < kept * 1.05) continue;
    if (mkdirSync(cache, { recursive: true, mode: 0o700 })) removeOldCaches();
    if (!isOurs(cache)) return;
    const sum = Buffer.alloc(sumBytes);
    sum.writeUInt32LE(crc32(code));
    const written = join(cache, `${name}.${process.pid}`);
    try {
      writeFileSync(written, Buffer.concat([code, sum]), { mode: 0o600 });
      renameSync(written, join(cache, name));
    } finally {
      rmSync(written, { force: true });
    }
  }
}

/** Removes what other versions kept, or Node for them, once they have not added to it for a month. */
function removeOldCaches(): void {
  for (const name of readdirSync(caches)) {
    const folder = join(caches, name);
    const { mtimeMs = Date.now() } = statSync(folder, { throwIfNoEntry: false }) ?? {};
    const isOld = mtimeMs < Date.now() - 30 * 24 * 3600_000;
    if (isOld && /^([\da-f]{12}-)?v\d/.test(name)) rmSync(folder, { recursive: true, force: true });
  }
}

if (!isOff) {
  process.once('exit', () => {
    try {
      keepCode();
    } catch {
      // A home that cannot be written: the next start compiles again.
    }
  });
}
