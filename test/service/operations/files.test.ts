import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { request } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  basic,
  execute,
  onPostgres,
  startTestService,
  storedIn,
  temporaryFile,
  withStore,
} from '../../support/embedded-service.ts';
import { startServiceProcess } from '../../support/service-process.ts';

const service = await startTestService();
const project_id = 'p/q';

async function download(digest: string, project = project_id) {
  const response = await fetch(`${service.running.url}/file/content`, {
    method: 'POST',
    headers: { authorization: basic, 'content-type': 'application/json' },
    body: JSON.stringify({ project_id: project, digest }),
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Sends a body as it is, and returns the status and the body of the response. */
function post(body: Buffer | string, headers: Record<string, string>): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${service.running.url}/file/create`, {
      method: 'POST',
      headers: { authorization: basic, ...headers },
    });
    sent.on('response', async (response) => {
      let text = '';
      for await (const part of response) text += part;
      resolve({ status: response.statusCode!, body: JSON.parse(text) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const form = (...parts: string[]) =>
  `${parts.map((part) => `--limit\r\nContent-Disposition: form-data; ${part}\r\n`).join('')}--limit--\r\n`;
const formType = { 'content-type': 'multipart/form-data; boundary=limit' };
const project = `name="project_id"\r\n\r\n${project_id}`;
const helloFile = 'name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhello';
const helloDigest = 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ='
  .replaceAll('+', 'X')
  .replaceAll('/', 'Y')
  .replaceAll('=', '');

describe('createFile', () => {
  it('stores a file once for the same bytes, and readFile returns them', async () => {
    const answer = await service.upload(basic, { project_id, file: 'function add(a, b) { return a + b; }' });
    expect(answer).toMatchObject({ status: 200, body: { digest: 'BUsBayqJhQyMo8fpQp4wQvFvwG29MHBGtbFdxyguzLU' } });
    const again = await service.upload(basic, { project_id, file: 'function add(a, b) { return a + b; }' });
    expect(again.body).toEqual(answer.body);
    expect(await execute(service.data, 'select count(*) as files from files')).toMatchObject([
      { files: onPostgres ? '1' : 1 },
    ]);
    const { status, headers, bytes } = await download(answer.body.digest);
    expect([status, headers.get('content-type'), headers.get('content-length')]).toEqual([
      200,
      'application/octet-stream',
      '36',
    ]);
    expect(bytes.toString()).toBe('function add(a, b) { return a + b; }');
  });

  it.each([0, 1, 262_144, 262_145, 1_048_576, 1_048_577, 5_000_000])(
    'returns a file of %i bytes as it was sent',
    async (size) => {
      const content = randomBytes(size);
      const expected = createHash('sha256')
        .update(content)
        .digest('base64url')
        .replaceAll('-', 'X')
        .replaceAll('_', 'Y');
      const { status, body } = await service.upload(basic, { project_id, file: new Blob([content]) });
      expect([status, body]).toEqual([200, { digest: expected }]);
      const { headers, bytes } = await download(expected);
      expect(headers.get('content-length')).toBe(String(size));
      expect(bytes.equals(content)).toBe(true);
    },
  );

  it('takes the fields of a form in any order, and ignores others', async () => {
    for (const parts of [
      [project, helloFile],
      [helloFile, project],
      ['name="note"\r\n\r\nx', 'name="extra"; filename="b"\r\n\r\nother', project, helloFile],
    ]) {
      const answer = await post(form(...parts), formType);
      // Only the first file is read.
      expect(answer).toEqual(
        parts.length === 4
          ? { status: 422, body: { detail: [{ loc: ['body', 'file'], msg: 'must be a file', type: 'value_error' }] } }
          : { status: 200, body: { digest: helloDigest } },
      );
    }
  });

  it.each([
    ['a form without a file', form(project), formType, ['body', 'file']],
    ['a form with a text in place of the file', form(project, 'name="file"\r\n\r\nx'), formType, ['body', 'file']],
    ['a form without a project', form(helloFile), formType, ['body', 'project_id']],
    ['an invalid project', form('name="project_id"\r\n\r\np', helloFile), formType, ['body', 'project_id']],
    ['a form that is cut off', form(project, helloFile).slice(0, -20), formType, ['body']],
    ['a form that is cut off in a header', form(project, helloFile).slice(0, 30), formType, ['body']],
    ['another boundary', form(project, helloFile), { 'content-type': 'multipart/form-data; boundary=x' }, ['body']],
    ['no boundary', form(project, helloFile), { 'content-type': 'multipart/form-data' }, ['body']],
    ['JSON', '{"project_id":"p/q"}', { 'content-type': 'application/json' }, ['body']],
    ['nothing', '', formType, ['body']],
  ])('refuses %s with 422', async (_, body, headers, loc) => {
    expect(await post(body, headers)).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
  });

  it('refuses a Content-Length over 101 MiB, and a field over 1 KiB, with 413', async () => {
    const claimed = { ...formType, 'content-length': String(102 * 1024 * 1024) };
    const socket = await new Promise<{ status: number }>((resolve, reject) => {
      const sent = request(`${service.running.url}/file/create`, {
        method: 'POST',
        headers: { authorization: basic, ...claimed },
      });
      sent.on('response', (response) => {
        resolve({ status: response.statusCode! });
        sent.destroy();
      });
      sent.on('error', reject);
      sent.flushHeaders();
    });
    expect(socket.status).toBe(413);
    expect(await post(form(`name="project_id"\r\n\r\n${'p'.repeat(2000)}`, helloFile), formType)).toMatchObject({
      status: 413,
      body: { reason: 'A field of a form may have 1024 bytes' },
    });
  });

  it('reports with status 503 that the temporary folder cannot be written', async () => {
    const folder = temporaryFile('missing');
    vi.stubEnv('TMPDIR', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const answer = await service.upload(basic, { project_id, file: new Blob([Buffer.alloc(3_000_000)]) });
    expect(answer).toMatchObject({
      status: 503,
      body: { reason: `The uploaded file cannot be written to the temporary folder ${folder} (ENOENT).` },
    });
    // A small file needs no temporary folder.
    expect((await service.upload(basic, { project_id, file: 'small' })).status).toBe(200);
  });

  it('leaves nothing in the temporary folder when a client disconnects, and accepts the next file', async () => {
    const folder = temporaryFile('spool');
    mkdirSync(folder);
    chmodSync(folder, 0o700);
    vi.stubEnv('TMPDIR', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    await new Promise<void>((resolve) => {
      const sent = request(`${service.running.url}/file/create`, {
        method: 'POST',
        headers: { authorization: basic, ...formType },
      });
      sent.on('error', () => resolve());
      sent.write(`--limit\r\nContent-Disposition: form-data; ${helloFile}`);
      sent.write(Buffer.alloc(3_000_000), () => sent.destroy(new Error('gone')));
    });
    expect((await service.upload(basic, { project_id, file: new Blob([Buffer.alloc(3_000_000, 1)]) })).status).toBe(
      200,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('works in the built command too', async () => {
    const { password } = await withStore(service.data, (store) => store.addUser('ada', [project_id]));
    const { url } = await startServiceProcess(storedIn(service.data));
    const body = new FormData();
    body.append('project_id', project_id);
    body.append('file', new Blob(['hello']));
    const headers = { authorization: `Basic ${btoa(`ada:${password}`)}` };
    const response = await fetch(`${url}/file/create`, { method: 'POST', headers, body });
    expect([response.status, await response.json()]).toEqual([200, { digest: helloDigest }]);
  });

  it('needs an account', async () => {
    expect(await service.upload(undefined, { project_id, file: 'x' })).toMatchObject({ status: 401 });
  });
});

describe('readFile', () => {
  it('responds with 404 for a file that the project does not have', async () => {
    const { body } = await service.upload(basic, { project_id, file: 'of this project' });
    for (const [digest, project] of [
      [body.digest, 'p/other'],
      ['unknown', project_id],
    ] as const) {
      const { status, bytes } = await download(digest, project);
      expect([status, JSON.parse(bytes.toString())]).toEqual([404, { reason: `File ${digest} not found` }]);
    }
  });
});
