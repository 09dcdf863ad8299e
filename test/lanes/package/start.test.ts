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
  const { distOptions } = await import(pathToFileURL(join(root, 'scripts/dist-options.mjs')).href);
  // Chunk names contain a hash of their contents, so the chunks that the server loads are known here or the test fails.
  const { metafile } = await build({ ...(await distOptions()), write: false });
  outputs = metafile!.outputs;
});

/** Starts the built command on stdio and returns functions that list the source files, and the files, that it has loaded so far. */
async function startRecorded(): Promise<{
  server: LineProcess;
  sourcesLoaded: () => string[];
  filesLoaded: () => string[];
}> {
  const folder = temporaryFolder();
  const log = join(folder, 'loaded-modules');
  const server = new LineProcess(folder, { NODE_OPTIONS: `--import=${registerHook}`, LOADED_MODULES: log });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  await server.initialize();
  const filesLoaded = (): string[] => {
    const files = readFileSync(log, 'utf8')
      .split('\n')
      .filter((url) => url.startsWith('file:'))
      .map((url) => relative(root, fileURLToPath(url)));
    const built = files.filter((file) => file.startsWith('dist/'));
    expect(built).toContain('dist/heddle.js');
    expect(built.filter((file) => !outputs[file])).toEqual([]);
    return files;
  };
  const sourcesLoaded = (): string[] =>
    filesLoaded().flatMap((file) => (outputs[file] ? Object.keys(outputs[file].inputs) : [file]));
  return { server, sourcesLoaded, filesLoaded };
}

/** Returns the folders of src and the packages of source files. */
function partsOf(sources: string[]): string[] {
  return [
    ...new Set(sources.flatMap((source) => /^(src\/\w+|node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? [])),
  ];
}

describe('a server on stdio', () => {
  it('starts and answers without schemas, the SDK and the parser of commands, from a few files', async () => {
    const { server, sourcesLoaded, filesLoaded } = await startRecorded();
    expect(await server.ask({ id: 1, method: 'ping' })).toHaveProperty('result', {});
    expect(partsOf(sourcesLoaded()).sort()).toEqual([
      'node_modules/env-paths',
      'node_modules/is-safe-filename',
      'src/cli',
      'src/contract',
      'src/core',
      'src/mcp',
      'src/runtime',
      'src/settings',
      'src/telemetry',
      'src/tools',
    ]);
    expect(filesLoaded().length).toBeLessThanOrEqual(8);
  });

  it('loads the SDK, the tools and the HTTP client after the list of tools, before any call', async () => {
    const { server, sourcesLoaded } = await startRecorded();
    expect((await server.ask({ id: 1, method: 'tools/list' })).result).toHaveProperty('tools');
    const parts = () => partsOf(sourcesLoaded());
    await expect
      .poll(parts)
      .toEqual(
        expect.arrayContaining(['node_modules/@modelcontextprotocol/server', 'src/queues', 'node_modules/undici']),
      );
    const later = ['src/service', 'node_modules/kysely', 'node_modules/pg', 'node_modules/@opentelemetry/api'];
    expect(parts().filter((part) => later.includes(part))).toEqual([]);
  });

  it('loads the embedded service and the HTTP client with the first tool call', async () => {
    const { server, sourcesLoaded } = await startRecorded();
    await server.ask({ id: 1, method: 'tools/call', params: { name: 'list_queues', arguments: {} } });
    expect(partsOf(sourcesLoaded())).toEqual(
      expect.arrayContaining(['src/service', 'node_modules/undici', 'node_modules/kysely']),
    );
  });
});
