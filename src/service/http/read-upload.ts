import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { UploadedFile } from '../../contract/files.ts';
import { HeddleError } from '../../core/errors.ts';
import { askForBody } from '../../core/http/body-reader.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { invalidBody } from './read-json.ts';
import { DiskBudget, SpooledFile } from './spooled-file.ts';

/** Maximum size of an uploaded file. */
const maxFileBytes = 100 * 1024 * 1024;
/** Bytes that a form may have besides the file: for its other fields, its headers and boundaries. */
const maxOtherBytes = 1024 * 1024;
const maxFieldBytes = 1024;
/** Limits the disk space of all uploads in progress together. */
const diskBudget = new DiskBudget(1024 * 1024 * 1024);

/** The fields of a form: texts, and the {@link UploadedFile} of the field `file` if it has one. */
type FormFields = Record<string, string | UploadedFile>;

/**
 * Reads the form (multipart/form-data) with a file of the request that a response belongs to, in whatever order its fields come, and passes it on. The file is gone
 * afterwards.
 * @throws Refusal 413 for a file that is too large, 422 for a body that is no such form.
 */
export async function withUpload<T>(response: ServerResponse, use: (fields: FormFields) => Promise<T>): Promise<T> {
  const { req: request } = response;
  if (Number(request.headers['content-length'] ?? 0) > maxFileBytes + maxOtherBytes) throw tooLarge();
  askForBody(response);
  const file = new SpooledFile(diskBudget);
  try {
    return await use(await readForm(request, file));
  } finally {
    await file.close();
  }
}

/** Reads the fields of a form, and its field `file` into a file. */
async function readForm(request: IncomingMessage, file: SpooledFile): Promise<FormFields> {
  // Loaded with the first upload: most runs of heddle have none.
  const { Busboy } = (await import('@fastify/busboy')).default;
  const form = parserOf(Busboy, request);
  const fields: FormFields = {};
  let spooling: Promise<void> | undefined;
  let source: Readable | undefined;
  let receivedBytes = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      form.on('field', (name, value, _, isCut) => {
        if (isCut) reject(new Refusal(413, `A field of a form may have ${maxFieldBytes} bytes`));
        else if (name === 'project_id') fields.project_id = value;
      });
      form.on('file', (name, stream) => {
        if (name !== 'file' || spooling) {
          stream.resume();
          return;
        }
        source = stream.once('limit', () => reject(tooLarge()));
        spooling = file.fill(stream);
        spooling.catch((error) => {
          reject(error instanceof HeddleError || error instanceof Refusal ? error : damaged());
        });
      });
      form.once('error', () => reject(damaged()));
      form.once('finish', () => resolve(spooling));
      request.on('data', ({ length }: Buffer) => {
        receivedBytes += length;
        if (receivedBytes > maxFileBytes + maxOtherBytes) reject(tooLarge());
      });
      const onClose = () => {
        if (!request.complete) reject(new Refusal(400, 'The connection was closed before the body was complete'));
      };
      request.once('close', onClose);
      if (request.destroyed) onClose();
      request.pipe(form);
    });
  } finally {
    // After a refusal the rest is dropped; leaving the stream open would leave the file waiting for it.
    request.unpipe(form).removeAllListeners('data').resume();
    source?.destroy();
    await spooling?.catch(() => {});
  }
  return spooling ? { ...fields, file } : fields;
}

type Parser = typeof import('@fastify/busboy')['Busboy'];

function parserOf(Busboy: Parser, { headers }: IncomingMessage): InstanceType<Parser> {
  const { 'content-type': type = '' } = headers;
  if (!/^multipart\/form-data\b/i.test(type)) throw invalidBody('The body is not a form (multipart/form-data)');
  const limits = {
    fieldNameSize: 100,
    fieldSize: maxFieldBytes,
    fields: 20,
    fileSize: maxFileBytes,
    files: 1,
    parts: 20,
    headerPairs: 20,
    headerSize: 16 * 1024,
  };
  try {
    return new Busboy({ headers: { ...headers, 'content-type': type }, limits });
  } catch {
    throw invalidBody('The form has no boundary in its Content-Type');
  }
}

function tooLarge(): Refusal {
  return new Refusal(413, `Payload too large: a file may have ${maxFileBytes} bytes`);
}

const damaged = (): Refusal => invalidBody('The form is cut off or damaged');
