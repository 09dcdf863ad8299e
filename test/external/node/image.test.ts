import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';
import { ask, newerRequest } from '../../support/http-server.ts';
import { installedPath } from '../../support/outside-programs.ts';

const root = join(import.meta.dirname, '../../..');
const node24 = installedPath('node-versions', 'node-24/bin');

/** Returns the instructions of deploy/Containerfile in order. */
function instructions(): { name: string; value: string }[] {
  return readFileSync(join(root, 'deploy/Containerfile'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [name = '', ...rest] = line.split(' ');
      return { name, value: rest.join(' ') };
    });
}

describe.skipIf(!node24)('deploy/Containerfile', () => {
  /**
   * Runs the instructions on this machine instead of in a container: the image is a folder, and Node 24
   * stands in for the base image.
   */
  it('builds a server that runs without privileges and without write access', { timeout: 300_000 }, async () => {
    const image = temporaryFolder();
    const inside = (text: string): string => text.replaceAll(/(^|[ :=])(\/(?:src|package|opt)\b)/g, `$1${image}$2`);
    mkdirSync(join(image, 'home'));
    mkdirSync(join(image, 'package'));
    const path = `${node24}:${process.env.PATH}`;
    // The build has a home of its own, in which npm would have to download every package again.
    const npm_config_cache = execFileSync('npm', ['config', 'get', 'cache'], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
    const network = Object.fromEntries(
      Object.entries(process.env).filter(([name]) =>
        /proxy$|^NODE_EXTRA_CA_CERTS$|^npm_config_(registry|cafile)$/i.test(name),
      ),
    );
    let folder = image;
    let command: string[] = [];
    for (const { name, value } of instructions()) {
      if (name === 'FROM') expect(value).toMatch(/^docker\.io\/library\/node:24-bookworm-slim( AS build)?$/);
      else if (name === 'WORKDIR') {
        folder = inside(value);
        mkdirSync(folder);
      } else if (name === 'RUN') {
        execFileSync('sh', ['-c', inside(value)], {
          cwd: folder,
          env: { ...process.env, ...network, PATH: path, HOME: join(image, 'home'), npm_config_cache },
          stdio: 'pipe',
        });
      } else if (name === 'COPY' && value === '. .') {
        // The build context is the files of the repository.
        const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
          cwd: root,
          encoding: 'utf8',
        });
        for (const file of files.split('\0').filter((each) => each && existsSync(join(root, each)))) {
          cpSync(join(root, file), join(folder, file));
        }
      } else if (name === 'COPY') expect(value).toBe('--from=build /opt/heddle /opt/heddle');
      else if (name === 'ENV') expect(value).toMatch(/^PATH=\/opt\/heddle\/bin:/);
      else if (name === 'USER') expect(value).toBe('10001:10001');
      else if (name === 'EXPOSE') expect(value).toBe('3920');
      else if (name === 'ENTRYPOINT' || name === 'CMD') command = [...command, ...JSON.parse(value)];
      else throw new Error(`this test does not know ${name}`);
    }
    expect(command).toEqual(['heddle', 'serve', '--http', '--host', '0.0.0.0']);
    // The package has no dependencies.
    expect(execFileSync('ls', [join(image, 'opt/heddle/lib/node_modules')], { encoding: 'utf8' })).toBe('heddle\n');

    for (const each of [image, join(image, 'opt')]) chmodSync(each, 0o555);
    const child = spawn(join(image, 'opt/heddle/bin/heddle'), [...command.slice(1), '--port', '0'], {
      cwd: '/',
      // As in the image: no home, and another user if this one is root.
      env: {
        PATH: `${node24}:/usr/bin:/bin`,
        HOME: '/nonexistent',
        HEDDLE_HTTP_TOKEN: 'token-of-clients',
        HEDDLE_BASE_URL: 'http://127.0.0.1:9',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(process.getuid?.() === 0 && { uid: 10001, gid: 10001 }),
    });
    const exit = once(child, 'exit');
    onTestFinished(() => void child.kill('SIGKILL'));
    let url = '';
    for await (const line of createInterface(child.stderr)) {
      url = /^listening on (http:\S+)$/.exec(line)?.[1]?.replace('0.0.0.0', '127.0.0.1') ?? '';
      expect(url, line).not.toBe('');
      break;
    }
    const { headers, body } = newerRequest('tools/list');
    const answer = await ask(url, { headers: { ...headers, authorization: 'Bearer token-of-clients' }, body });
    expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('query_queue_items')]);
    expect((await ask(url, { headers, body })).status).toBe(401);
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
  });
});
