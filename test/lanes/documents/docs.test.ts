import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentNames } from '../../../src/settings/resolve-settings.ts';
import { settingDefinitions } from '../../../src/settings/settings.ts';
import { execute } from '../../support/embedded-service.ts';
import { freePort } from '../../support/free-port.ts';
import { command, emptyHome, type Finished, run } from '../../support/heddle.ts';
import { type Block, blocksOf, inlineCode, pages, root, textOf } from '../../support/markdown-blocks.ts';
import { Cluster } from '../../support/postgres-cluster.ts';
import { requireProgram } from '../../support/require-program.ts';
import { pattern, Shell, transcript } from '../../support/shell.ts';

const hasCurl = requireProgram('curl', 'curl', 'apt-get install curl');
const hasPostgres = requireProgram('PostgreSQL', '/usr/lib/postgresql', 'apt-get install postgresql');

let folder: string;
let environment: Record<string, string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-docs-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program = (name: string, text: string): void => {
    writeFileSync(join(bin, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  // As npm installs it.
  symlinkSync(command, join(bin, 'heddle'));
  // Commands run as this user, and there is no systemd.
  program('sudo', '[ "$1" = -u ] && shift 2\nexec "$@"');
  program('systemctl', '');
  // Stands in for npm: packs this checkout, and installs it into a folder of this test without network.
  const settings = '--offline --ignore-scripts --omit=optional --no-audit --no-fund --no-update-notifier';
  const npm = execFileSync('bash', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
  program(
    'npm',
    `tarball=$(ls "${folder}"/*.tgz 2>/dev/null || { PATH="${process.env.PATH}" "${process.execPath}" "${root}/scripts/tarball.mjs" "${folder}"; })
[ "$1" = install ] && set -- "\${@/#.\\/heddle-*.tgz/$tarball}"
exec "${npm}" "$@" ${settings}`,
  );
  environment = { ...emptyHome(folder), PATH: `${bin}:${process.env.PATH}` };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Creates a home for a page. */
function homeOf(page: string): { home: string; env: Record<string, string> } {
  const home = join(folder, page.replaceAll(/\W/g, '-'));
  mkdirSync(join(home, 'node_modules'), { recursive: true });
  // The package that the pages say to install, and what `npm ci` builds.
  for (const path of ['node_modules/openai', 'dist'])
    if (!existsSync(join(home, path))) symlinkSync(join(root, path), join(home, path));
  return { home, env: emptyHome(home, { PATH: environment.PATH! }) };
}

const serverSettings = '/etc/heddle/service.env';

/** Starts PostgreSQL with a database for the service, and writes the settings of docs/for-operators.md for it. */
async function startDatabase(settingsFile: string): Promise<Cluster> {
  const cluster = await Cluster.make();
  await execute(cluster.url, 'create database heddle');
  await execute(cluster.url, 'create role heddle');
  const { host, hostname, port, username, password } = new URL(cluster.url);
  const [settings] = blocksOf('docs/for-operators.md').filter((block) => kindOf(block) === 'env');
  const text = settings!.text
    .replace('heddle@127.0.0.1/', `${username}@${host}/`)
    .replace('PGPASSWORD=…', `PGPASSWORD=${password}`);
  // The user `postgres` of the pages is the one of this cluster.
  writeFileSync(settingsFile, `${text}PGHOST=${hostname}\nPGPORT=${port}\nPGUSER=${username}\n`, { mode: 0o600 });
  return cluster;
}

let demo: Promise<Finished> | undefined;
/** Returns what `heddle demo --text` prints. It runs once for all pages. */
async function printedByDemo(): Promise<string> {
  demo ??= run(['demo', '--text'], homeOf('demo').env);
  return (await demo).stdout;
}

const kinds: [RegExp, string][] = [
  [/^(console|sh) run$/, 'run'],
  [/^sh clone$/, 'clone'],
  [/^json config$/, 'config'],
  [/^(json|toml) entry [\w-]+$/, 'entry'],
  [/^json$/, 'json'],
  [/^\w+ file \S+$/, 'file'],
  [/^ini env$/, 'env'],
  [/^sh machine$/, 'machine'],
  [/^ts$/, 'compile'],
  [/^text demo$/, 'demo'],
  [/^text$/, 'text'],
  // Run by the suite of that name, or by opentelemetry.test.ts of this lane.
  [/^(js|sh) traces$|^console (recorder|weave|otel)$|^(js|py|sh) (weave|otel) \S+$/, 'suite'],
];
const kindOf = ({ info }: Block): string | undefined => kinds.find(([form]) => form.test(info))?.[1];

/** Declares a test only if a page has blocks for it. */
function testOf(blocks: Block[], isSkipped = false): typeof it | typeof it.skip {
  if (blocks.length === 0) return (() => {}) as unknown as typeof it;
  return isSkipped ? it.skip : it;
}

// Most of the time, one page waits for its commands.
describe.concurrent.each(pages)('%s', (page) => {
  const blocks = blocksOf(page);
  const of = (kind: string): Block[] => blocks.filter((block) => kindOf(block) === kind);

  it('says for every code block which test checks it', () => {
    expect(blocks.filter((block) => !kindOf(block)).map(({ info, line }) => `${line}: ${info}`)).toEqual([]);
  });

  const runs = of('run');
  const usesDatabase = runs.some(({ text }) => text.includes(serverSettings));
  testOf(runs, (!hasCurl && runs.some(({ text }) => text.includes('curl'))) || (!hasPostgres && usesDatabase))(
    'has commands that run and print the output below them',
    async () => {
      const { home, env } = homeOf(page);
      const ports = new Map<string, string>();
      for (const { text } of runs) {
        for (const [port] of text.matchAll(/\b(?:8787|39[0-9]{2}|9464)\b/g))
          ports.set(port, ports.get(port) ?? `${await freePort()}`);
      }
      const here = (text: string): string =>
        text
          .replaceAll(/\b(?:8787|39[0-9]{2}|9464)\b/g, (port) => ports.get(port)!)
          .replaceAll(serverSettings, join(home, 'service.env'));
      const database = usesDatabase ? await startDatabase(join(home, 'service.env')) : undefined;
      const shell = new Shell(home, env);
      try {
        for (const { info, text, line } of runs) {
          const steps = info.startsWith('console') ? transcript(text) : [{ command: text, output: '' }];
          for (const { command: typed, output: expected } of steps) {
            const { code, output } = await shell.run(here(typed));
            const plain = output.replaceAll(home, '~').trim();
            expect(code, `${page}:${line} ${typed}\n${output}`).toBe(0);
            if (expected !== '') expect(plain, `${page}:${line} ${typed}`).toMatch(pattern(here(expected)));
          }
        }
      } finally {
        shell.end();
        database?.remove();
      }
    },
  );

  testOf(of('clone'))('has commands for a clone that .ci/run runs', () => {
    const script = readFileSync(join(root, '.ci/run'), 'utf8');
    for (const { text } of of('clone')) {
      for (const line of text.trim().split(/\n|&&/)) expect(script).toContain(line.replace(/\s*#.*/, '').trim());
    }
  });

  testOf(of('demo'))('shows what the demo prints', async () => {
    // Ids and times differ in every run.
    const steady = (text: string): string =>
      text.replaceAll(
        /\b[0-9a-z]{17}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b20\d\d-\d\d-\d\dT[\d:.]+Z\b/g,
        '…',
      );
    const printed = steady(await printedByDemo())
      .split('\n')
      .map((line) => line.trimStart());
    for (const { text } of of('demo')) {
      for (const line of steady(text)
        .split('\n')
        .filter((each) => each !== ''))
        expect(printed).toContain(line);
    }
  });

  testOf(of('json'))('has blocks of JSON that parse', () => {
    for (const { text } of of('json')) expect(() => JSON.parse(text), text).not.toThrow();
  });

  testOf(of('config'))('has configuration files that heddle reads', async () => {
    const { home, env } = homeOf(`${page} config`);
    const file = join(home, 'heddle', 'config.json');
    mkdirSync(dirname(file), { recursive: true });
    for (const { text } of of('config')) {
      writeFileSync(file, text);
      for (const profile of Object.keys(JSON.parse(text).profiles)) {
        const { stdout, stderr } = await run(['status', '--json', '--profile', profile], env);
        expect(stderr).toBe('');
        expect(stdout).toContain(profile);
      }
    }
  });

  testOf(of('entry'))('has entries of clients as `heddle setup` writes them', async () => {
    const { env } = homeOf(`${page} entry`);
    for (const { info, text } of of('entry')) {
      const [format, , client] = info.split(' ');
      const read = (source: string): unknown => (format === 'toml' ? parseToml(source) : JSON.parse(source));
      const { stdout } = await run(['setup', client!, '--print'], env);
      const shown = stdout
        .replaceAll(JSON.stringify(process.execPath), '"/usr/bin/node"')
        .replaceAll(JSON.stringify(command), '"/usr/lib/node_modules/heddle/dist/heddle.js"');
      expect(read(text)).toEqual(read(shown));
    }
  });

  testOf(of('file'))('shows files of the repository unchanged', () => {
    for (const { info, text } of of('file')) {
      const [, , file] = info.split(' ');
      expect(text, file).toBe(readFileSync(join(root, file!), 'utf8'));
    }
  });

  testOf(of('env'))('has only existing settings in environment files', () => {
    const names = (Object.keys(settingDefinitions) as (keyof typeof settingDefinitions)[]).map(
      (name) => settingDefinitions[name].environment,
    );
    for (const { text } of of('env')) {
      for (const line of text.trim().split('\n')) expect([...names, 'PGPASSWORD']).toContain(line.split('=')[0]);
    }
  });

  testOf(of('machine'))('names only existing files, units and Kubernetes objects in commands for a server', () => {
    const files = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' });
    const manifests = files.filter((file) => file.endsWith('.yaml')).map((file) => textOf(join('deploy', file)));
    for (const { text } of of('machine')) {
      for (const [file] of text.matchAll(/\bdeploy\/[\w@./-]+/g)) expect(existsSync(join(root, file)), file).toBe(true);
      for (const [, unit] of text.matchAll(/\b(heddle[\w-]*@)(?=[\d$])/g)) {
        expect(existsSync(join(root, `deploy/systemd/${unit}.service`)), unit).toBe(true);
      }
      for (const [, prefix] of text.matchAll(/sudo npm install --global --prefix (\S+)/g)) {
        for (const file of files.filter((name) => name.endsWith('.service'))) {
          expect(textOf(join('deploy', file)), file).toContain(`ExecStart=${prefix}/bin/heddle `);
        }
      }
      for (const [, kind, name] of text.matchAll(/\b(deployment|secret generic)[ /]([\w-]+)/g)) {
        const form = kind === 'deployment' ? `kind: Deployment\nmetadata:\n  name: ${name}\n` : `ame: ${name}[ ,]`;
        expect(manifests.join('\n'), `${kind} ${name}`).toMatch(new RegExp(form));
      }
    }
  });

  testOf(of('compile'))('has programs that compile', () => {
    const { home } = homeOf(`${page} ts`);
    symlinkSync(root, join(home, 'node_modules/heddle'));
    symlinkSync(join(root, 'node_modules/@modelcontextprotocol'), join(home, 'node_modules/@modelcontextprotocol'));
    writeFileSync(join(home, 'package.json'), '{ "type": "module" }');
    const files = of('compile').map(({ text }, index) => {
      const file = join(home, `${index}.ts`);
      writeFileSync(file, text);
      return file;
    });
    const flags = [
      '--strict',
      '--noEmit',
      '--target',
      'es2023',
      '--module',
      'nodenext',
      '--skipLibCheck',
      '--ignoreConfig',
    ];
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/lib/tsc.js'), ...flags, ...types, ...files], {
      stdio: 'pipe',
      encoding: 'utf8',
    });
  });

  it('has links to existing files and headings', () => {
    const anchorsOf = (file: string): string[] =>
      [...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
        title!
          .toLowerCase()
          .replaceAll(/[^\w\s-]/g, '')
          .trim()
          .replaceAll(/\s/g, '-'),
      );
    for (const [, target] of textOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path, anchor] = target!.split('#');
      const file = path === '' ? page : join(dirname(page), path!);
      expect(existsSync(join(root, file)), `${page}: ${target}`).toBe(true);
      if (anchor) expect(anchorsOf(file), `${page}: ${target}`).toContain(anchor);
    }
  });

  it('names only existing commands, flags and settings in its sentences', async () => {
    const names = (Object.keys(settingDefinitions) as (keyof typeof settingDefinitions)[]).flatMap(environmentNames);
    const helps = new Map<string, string>();
    for (const code of inlineCode(page)) {
      for (const [name] of code.matchAll(/\bHEDDLE_[A-Z_]+\b/g)) expect(names, `${page}: ${code}`).toContain(name);
      const words = /^heddle((?: [a-z][\w-]*)*)/.exec(code)?.[1]?.trim().split(' ').filter(Boolean);
      if (!words) continue;
      const chain = ['service', 'evaluation', 'queue', 'config'].includes(words[0]!)
        ? words.slice(0, 2)
        : words.slice(0, 1);
      const key = chain.join(' ');
      if (!helps.has(key)) {
        const { code: exit, stdout } = await run([...chain, '--help-all'], homeOf(page).env);
        expect(exit, `${page}: ${code}`).toBe(0);
        helps.set(key, stdout);
      }
      for (const [flag] of code.matchAll(/--[a-z][\w-]*/g)) expect(helps.get(key), `${page}: ${code}`).toContain(flag);
    }
  });
});
