import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { command, emptyHome, temporaryFolder } from './heddle.ts';
import { blocksOf } from './markdown-blocks.ts';
import { pattern, Shell, transcript } from './shell.ts';

/**
 * Does what a page about recording shows, after the blocks `console recorder` of docs/recording.md: writes the files of its blocks
 * `LANGUAGE KIND FILE` and types the commands of its blocks `console KIND` into a shell.
 * @param npmInstall the arguments with which the page calls npm; it is refused other ones.
 * @param packages the paths of the installed packages by their names.
 * @returns the number of commands that were run.
 */
export async function followPage(
  page: string,
  { kind, npmInstall, packages }: { kind: string; npmInstall: string; packages: Record<string, string> },
): Promise<number> {
  const home = temporaryFolder();
  const bin = join(home, 'bin');
  mkdirSync(bin);
  const addProgram = (name: string, line: string): void => {
    writeFileSync(join(bin, name), `#!/bin/bash\n${line}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  addProgram('heddle', `exec "${process.execPath}" "${command}" "$@"`);
  addProgram('npm', `[ "$*" = "${npmInstall}" ]`);
  for (const [name, path] of Object.entries(packages)) {
    const link = join(home, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(path, link);
  }
  const shell = new Shell(home, emptyHome(home, { PATH: `${bin}:${process.env.PATH}` }));
  onTestFinished(() => shell.end());
  const port = `${await freePort()}`;
  let commands = 0;
  const blocks = [
    ...blocksOf('docs/recording.md').filter(({ info }) => info === 'console recorder'),
    ...blocksOf(page).filter(({ info }) => info.split(' ')[1] === kind),
  ];
  for (const { info, text } of blocks) {
    const [language, , file] = info.split(' ');
    if (file) writeFileSync(join(home, file), text.replaceAll('8787', port));
    if (language !== 'console') continue;
    for (const { command: typed, output: expected } of transcript(text)) {
      // The address in recording.env is the one of the default port.
      const here = typed.replaceAll('8787', port).replace('--env >', `--env --url http://127.0.0.1:${port} >`);
      const { code, output } = await shell.run(here);
      expect(code, `${typed}\n${output}`).toBe(0);
      if (expected !== '') expect(output.trim(), typed).toMatch(pattern(expected));
      commands += 1;
    }
  }
  return commands;
}
