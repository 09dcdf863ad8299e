import * as z from 'zod';
import { endpoint, projectInBody } from './endpoint.ts';
import { projectId } from './identifiers.ts';

/** A file that a client has uploaded as a `Blob`, as the operation receives it. */
export interface UploadedFile {
  /** SHA-256 of the bytes in the form of every digest: 43 characters. */
  digest: string;
  sizeBytes: number;
  /** Returns the bytes from the beginning, in pieces of at most 256 KiB. Can be called again. */
  chunks(): AsyncIterable<Uint8Array>;
}

const uploadedFile = z
  .unknown()
  .refine((file) => typeof file === 'object', 'must be a file')
  .meta({ type: 'string', format: 'binary' }) as z.ZodType<UploadedFile, Blob>;

/** The bytes of a file. */
export const fileContent = z.unknown().meta({ type: 'string', format: 'binary' }) as z.ZodType<Blob>;

export const fileEndpoints = {
  createFile: endpoint({
    summary: 'Store a file',
    description: 'The same bytes again are the same file. A file may have 100 MiB.',
    path: '/file/create',
    alias: '/files/create',
    projects: projectInBody,
    request: z.object({ project_id: projectId, file: uploadedFile }),
    form: true,
    response: z.looseObject({ digest: z.string() }),
    writes: true,
    repeatable: true,
  }),
  readFile: endpoint({
    summary: 'Read a file',
    path: '/file/content',
    alias: '/files/content',
    projects: projectInBody,
    request: z.object({ project_id: projectId, digest: z.string() }),
    response: fileContent,
    bytes: true,
  }),
};
