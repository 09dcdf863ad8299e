import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { command, emptyHome, runProcess, temporaryFolder } from '../../support/heddle.ts';
import { installCommand } from '../../support/outside-programs.ts';

const hasCompileCache = 'enableCompileCache' in module;
const node22 = fileURLToPath(new URL('../../external/packages/node_modules/node-22/bin/node', import.meta.url));
/** A Node that can keep compiled code; undefined if none is installed. */
const nodeWithCache = hasCompileCache ? process.execPath : existsSync(node22) ? node22 : undefined;
if (!nodeWithCache) {
  console.warn(`SKIPPED: Node 22 is missing; install it with: ${installCommand}`);
}

/** Runs `heddle status` with a home folder, and returns the names in its cache folder. */
async function cachedAfterRun(node: string, home: string): Promise<string[]> {
  const error = await new Promise((resolve) => execFile(node, [command, 'status'], { env: emptyHome(home) }, resolve));
  expect(error).toBeNull();
  const folder = join(home, '.cache', 'heddle');
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
}

describe('compile cache', () => {
  it.runIf(nodeWithCache)("keeps compiled code in the user's cache folder on Node 22 and later", async () => {
    expect(await cachedAfterRun(nodeWithCache!, temporaryFolder())).not.toEqual([]);
  });

  it.runIf(nodeWithCache && process.getuid?.() === 0)(
    'writes nothing if the home folder belongs to another user',
    async () => {
      const home = temporaryFolder();
      chownSync(home, 1000, 1000);
      expect(await cachedAfterRun(nodeWithCache!, home)).toEqual([]);
    },
  );

  it.skipIf(hasCompileCache)('writes nothing on a Node without a compile cache', async () => {
    expect(await cachedAfterRun(process.execPath, temporaryFolder())).toEqual([]);
  });
});

/** Copies the built command without the chunk of a module. @returns the path of the copy and the name of the chunk. */
function withoutChunk(name: string, folder: string): { copy: string; chunk: string } {
  const dist = join(folder, 'dist');
  cpSync(dirname(command), dist, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const chunk = readdirSync(join(dist, 'chunks')).find((file) => file.startsWith(`${name}-`))!;
  rmSync(join(dist, 'chunks', chunk));
  return { copy: join(dist, 'heddle.js'), chunk };
}

describe('a damaged installation', () => {
  it.each([
    ['run', 'serve'],
    ['program', 'status'],
  ])('reports a missing %s chunk on stderr and exits with 1', async (name, subcommand) => {
    const folder = temporaryFolder();
    const { copy, chunk } = withoutChunk(name, folder);
    const { code, stdout, stderr } = await runProcess([subcommand], emptyHome(folder), '', copy);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^heddle: a file of the installation is missing or damaged; install heddle again\. /);
    expect(stderr).toContain(chunk);
  });

  it('ends a server that cannot load what a request needs, while its input is still open', async () => {
    const folder = temporaryFolder();
    const { copy, chunk } = withoutChunk('connect', folder);
    const child = spawn(process.execPath, [copy, 'serve'], { env: emptyHome(folder) });
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"prompts/list"}\n');
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('heddle: unexpected failure: ');
    expect(stderr).toContain(chunk);
  });
});
