import * as z from 'zod';
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

/** Request to store a file: a form (multipart/form-data) with these two fields. */
export const createFileRequest = z.object({ project_id: projectId, file: uploadedFile });
export type CreateFileRequest = z.infer<typeof createFileRequest>;

export const createFileResponse = z.looseObject({ digest: z.string() });
export type CreateFileResponse = z.infer<typeof createFileResponse>;

/** Request for the bytes of a file. */
export const readFileRequest = z.object({ project_id: projectId, digest: z.string() });
export type ReadFileRequest = z.infer<typeof readFileRequest>;

/** The bytes of a file. */
export const fileContent = z.unknown().meta({ type: 'string', format: 'binary' }) as z.ZodType<Blob>;
