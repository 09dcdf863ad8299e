import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { blocksOf } from '../../support/markdown-blocks.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { pattern, Shell, transcript } from '../../support/shell.ts';
import { hasWeaveSdk } from '../../support/weave-sdk.ts';

describe.skipIf(!hasWeaveSdk)('recording with npm weave', () => {
  it('works as docs/recording.md shows', async () => {
    const home = temporaryFolder();
    const bin = join(home, 'bin');
    mkdirSync(bin);
    const addProgram = (name: string, line: string): void => {
      writeFileSync(join(bin, name), `#!/bin/bash\n${line}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    addProgram('heddle', `exec "${process.execPath}" "${command}" "$@"`);
    // Stands in for npm: the package is installed already.
    const packages = dirname(installedPath('weave-sdk', 'weave')!);
    addProgram('npm', `[ "$*" = "install weave@0.11.1" ] && ln -s "${packages}" node_modules`);
    const shell = new Shell(home, emptyHome(home, { PATH: `${bin}:${process.env.PATH}` }));
    onTestFinished(() => shell.end());
    const port = `${await freePort()}`;
    let commands = 0;
    for (const { info, text } of blocksOf('docs/recording.md')) {
      const [, file] = /^js weave (\S+)$/.exec(info) ?? [];
      if (file) writeFileSync(join(home, file), text);
      if (info !== 'console weave') continue;
      for (const { command: typed, output: expected } of transcript(text)) {
        // The address in recording.env is the one of the default port.
        const here = typed.replaceAll('8787', port).replace('--env >', `--env --url http://127.0.0.1:${port} >`);
        const { code, output } = await shell.run(here);
        expect(code, `${typed}\n${output}`).toBe(0);
        if (expected !== '') expect(output.trim(), typed).toMatch(pattern(expected));
        commands += 1;
      }
    }
    expect(commands).toBe(13);
    expect(existsSync(join(home, 'answer.mjs'))).toBe(true);
  });
});
