import { Refusal } from '../../core/http/refusal.ts';
import type { Database } from '../storage/database.ts';
import { selectInProject } from '../storage/in-chunks.ts';
import { insertRows } from '../storage/insert-rows.ts';
import type { OperationHandler } from './operation.ts';

/**
 * Stores an uploaded file; the same bytes again are the same file.
 */
export const createFile: OperationHandler<'createFile'> = async ({ body, account }, { database }) => {
  const { project_id, file } = body;
  const { digest, sizeBytes: size_bytes } = file;
  await database.write(async (transaction) => {
    const row = { project_id, digest, size_bytes, created_at: new Date().toISOString(), created_by: account };
    if ((await insertRows(transaction, 'files', [row], ['project_id', 'digest'])) === 0) return;
    let chunk_index = 0;
    for await (const bytes of file.chunks()) {
      await transaction.insertInto('file_chunks').values({ project_id, digest, chunk_index, bytes }).execute();
      chunk_index += 1;
    }
  });
  return { digest };
};

/**
 * Sends the bytes of a file.
 * @throws Refusal 404 when the project has no such file.
 */
export const readFile: OperationHandler<'readFile'> = async ({ body: { project_id, digest } }, { database }) => {
  const file = await database.read((transaction) =>
    selectInProject(transaction, 'files', project_id)
      .select('size_bytes')
      .where('digest', '=', digest)
      .executeTakeFirst(),
  );
  if (!file) throw new Refusal(404, `File ${digest} not found`);
  return new Response(ReadableStream.from(readChunks(database, { project_id, digest })), {
    headers: { 'Content-Type': 'application/octet-stream', 'Content-Length': String(file.size_bytes) },
  });
};

/** Reads a file piece by piece, each in a transaction of its own: a stored file never changes. */
async function* readChunks(
  database: Database,
  { project_id, digest }: { project_id: string; digest: string },
): AsyncGenerator<Uint8Array> {
  for (let index = 0; ; index += 1) {
    const chunk = await database.read((transaction) =>
      selectInProject(transaction, 'file_chunks', project_id)
        .select('bytes')
        .where('digest', '=', digest)
        .where('chunk_index', '=', index)
        .executeTakeFirst(),
    );
    if (!chunk) return;
    yield chunk.bytes;
  }
}
