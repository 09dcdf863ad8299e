import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';
import { LineProcess } from '../../support/line-client.ts';

const root = join(import.meta.dirname, '../../..');

/** Source text of a module hook that appends the URL of each loaded module to the file in `LOADED_MODULES`. */
const recordingHook = `
import { appendFileSync } from 'node:fs';
export async function load(url, context, nextLoad) {
  appendFileSync(process.env.LOADED_MODULES, url + '\\n');
  return nextLoad(url, context);
}`;
const asDataUrl = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
const registerHook = asDataUrl(
  `import { register } from 'node:module'; register(${JSON.stringify(asDataUrl(recordingHook))});`,
);

let outputs: Metafile['outputs'];
beforeAll(async () => {
  const { bundleOptions } = await import(pathToFileURL(join(root, 'scripts/bundle-options.mjs')).href);
  // Chunk names contain a hash of their contents, so the chunks that the server loads are known here or the test fails.
  const { metafile } = await build({
    ...bundleOptions,
    splitting: true,
    entryPoints: { heddle: 'src/cli/main.ts', index: 'src/library.ts' },
    chunkNames: 'chunks/[name]-[hash]',
    outdir: 'dist',
    write: false,
    metafile: true,
  });
  outputs = metafile!.outputs;
});

/** Starts the built command on stdio and returns a function that lists the source files it has loaded so far. */
async function startRecorded(): Promise<{ server: LineProcess; sourcesLoaded: () => string[] }> {
  const folder = temporaryFolder();
  const log = join(folder, 'loaded-modules');
  const server = new LineProcess(folder, { NODE_OPTIONS: `--import=${registerHook}`, LOADED_MODULES: log });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  await server.initialize();
  const sourcesLoaded = (): string[] => {
    const files = readFileSync(log, 'utf8')
      .split('\n')
      .filter((url) => url.startsWith('file:'))
      .map((url) => relative(root, fileURLToPath(url)));
    const built = files.filter((file) => file.startsWith('dist/'));
    expect(built).toContain('dist/heddle.js');
    expect(built.filter((file) => !outputs[file])).toEqual([]);
    return files.flatMap((file) => (outputs[file] ? Object.keys(outputs[file].inputs) : [file]));
  };
  return { server, sourcesLoaded };
}

const laterPackages = ['undici', 'kysely', 'pg', 'jose', 'prom-client', '@opentelemetry/api'];
const isLater = (source: string): boolean =>
  source.startsWith('src/service/') || laterPackages.some((name) => source.startsWith(`node_modules/${name}/`));

describe('a server on stdio', () => {
  it('starts and lists its tools without the HTTP client, the embedded service, metrics and tracing', async () => {
    const { server, sourcesLoaded } = await startRecorded();
    expect((await server.ask({ id: 1, method: 'tools/list' })).result).toHaveProperty('tools');
    expect(sourcesLoaded().filter(isLater)).toEqual([]);
  });

  it('loads the embedded service and the HTTP client with the first tool call', async () => {
    const { server, sourcesLoaded } = await startRecorded();
    await server.ask({ id: 1, method: 'tools/call', params: { name: 'list_queues', arguments: {} } });
    const packages = new Set(
      sourcesLoaded().flatMap((source) => /^(src\/service|node_modules\/\w+)\//.exec(source)?.[1] ?? []),
    );
    expect([...packages]).toEqual(
      expect.arrayContaining(['src/service', 'node_modules/undici', 'node_modules/kysely']),
    );
  });
});
