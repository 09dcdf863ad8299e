import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { packTarball } from '../../support/pack-tarball.ts';
import { skillNames } from '../../support/skill-names.ts';

const claudeCode = installedPath('model-clients', '@anthropic-ai/claude-code/cli-wrapper.cjs');
const codex = installedPath('model-clients', '@openai/codex/bin/codex.js');
const geminiCli = installedPath('model-clients', '@google/gemini-cli/bundle/gemini.js');

/** The unpacked npm package, which is the plugin. */
let plugin: string;
beforeAll(() => {
  const folder = temporaryFolder();
  expect(spawnSync('tar', ['xzf', packTarball(folder), '-C', folder]).status).toBe(0);
  plugin = join(folder, 'package');
});

/** Returns a function that runs a client in an empty home without network, answers its questions with yes, and returns its output. */
function homeOf(script: string, home = temporaryFolder()): (...args: string[]) => string {
  // Requests to other hosts fail: nothing listens at the proxy.
  const env = emptyHome(home, { HTTPS_PROXY: 'http://127.0.0.1:9', NO_COLOR: '1' });
  return (...args) => {
    const ran = spawnSync(process.execPath, [script, ...args], { cwd: home, env, encoding: 'utf8', input: 'y\n' });
    expect(ran.status, `${args.join(' ')}: ${ran.stdout}${ran.stderr}`).toBe(0);
    return ran.stdout + ran.stderr;
  };
}

describe.skipIf(!claudeCode)('the plugin in Claude Code', () => {
  it('is valid, also for a marketplace', () => {
    const claude = homeOf(claudeCode!);
    expect(claude('plugin', 'validate', '--strict', '--profile', 'directory', plugin)).toContain('Validation passed');
    const manifest = join(plugin, '.claude-plugin/plugin.json');
    expect(claude('plugin', 'validate', '--strict', manifest)).toContain('Validation passed');
  });

  it('is installed from its own marketplace, with its skills and a server that connects', () => {
    const home = temporaryFolder();
    const claude = homeOf(claudeCode!, home);
    claude('plugin', 'marketplace', 'add', plugin);
    claude('plugin', 'install', 'heddle@heddle');
    expect(claude('plugin', 'details', 'heddle')).toContain(`Skills (${skillNames.length})  ${skillNames.join(', ')}`);
    expect(claude('mcp', 'list')).toMatch(/^plugin:heddle:heddle: node \S+\/dist\/heddle\.js serve - ✔ Connected$/m);
    expect(homeOf(command, home)('doctor', '--table')).toContain('Claude Code starts heddle as a plugin');
  });
});

describe.skipIf(!codex)('the plugin in Codex', () => {
  it.each([
    ['Agent Plugins 1.0', []],
    ['.codex-plugin alone', ['plugin.json', 'mcp.json']],
  ])('is installed from its marketplace with %s', (_, missing) => {
    const copy = join(temporaryFolder(), 'heddle');
    cpSync(plugin, copy, { recursive: true });
    for (const file of missing) rmSync(join(copy, file));
    const home = temporaryFolder();
    const run = homeOf(codex!, home);
    run('plugin', 'marketplace', 'add', copy);
    run('plugin', 'add', 'heddle@heddle');
    expect(run('plugin', 'list')).toMatch(/^heddle@heddle +installed, enabled +0\.1\.0 /m);
    expect(run('mcp', 'list')).toMatch(/^heddle +node +\S+\/dist\/heddle\.js serve .* enabled /m);
    expect(homeOf(command, home)('doctor', '--table')).toContain('Codex starts heddle as a plugin');
  });
});

describe.skipIf(!geminiCli)('the extension in Gemini CLI', () => {
  it('is valid, and is installed with its skills and a server that connects', () => {
    const home = temporaryFolder();
    const gemini = homeOf(geminiCli!, home);
    expect(gemini('extensions', 'validate', plugin)).toContain('has been successfully validated');
    gemini('extensions', 'install', plugin, '--consent');
    const listed = gemini('skills', 'list');
    for (const skill of skillNames) expect(listed).toContain(`${skill} [Enabled]`);
    expect(gemini('mcp', 'list')).toMatch(
      /heddle \(from heddle\): node \S+\/dist\/heddle\.js serve \(stdio\) - Connected/,
    );
    expect(homeOf(command, home)('doctor', '--table')).toContain('Gemini CLI starts heddle as a plugin');
  });
});
