import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tsImport } from 'tsx/esm/api';

/**
 * Returns dist/index.d.ts: the declarations of src/library.ts and everything they refer to, in one file. Schemas and
 * their types come from `contractTypes`, because the library that the schemas are written in is not installed with heddle.
 * Relies on exported names being unique in src, which test/structure/layers.test.ts checks.
 * @throws Error when a declaration refers to a package.
 */
export async function declarations(root) {
  const files = emitDeclarations(root);
  const { contractTypes } = await tsImport('./contract-types.ts', import.meta.url);
  const fromContract = statementsOf(contractTypes());
  const known = new Map([...files.values()].flatMap((text) => [...statementsOf(text)]));
  for (const [name, statement] of fromContract) known.set(name, statement);

  const library = files.get('library.d.ts');
  const roots = new Set([
    ...statementsOf(library).keys(),
    ...[...library.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, names]) => names.match(/\b(?!type\b)\w+/g)),
    ...fromContract.keys(),
  ]);
  const needed = new Map();
  const add = (name) => {
    if (needed.has(name) || !known.has(name)) return;
    const statement = asInterface(known.get(name), roots.has('Client') && known.get('Client'));
    needed.set(name, statement);
    const code = statement.replaceAll(/\/\*[\s\S]*?\*\/|'[^']*'/g, '');
    // Names of members and parameters are followed by a colon or a parenthesis.
    for (const [word] of code.matchAll(/\b[A-Za-z]\w*\b(?!\??:|\()/g)) add(word);
  };
  for (const name of roots) add(name);

  const text = [...needed]
    .map(([name, statement]) =>
      roots.has(name) ? statement : statement.replace(/^export (?=declare|interface|type)/m, ''),
    )
    .join('\n');
  const outside = /import\(|\bz\.\w+|\bfrom '/.exec(text);
  if (outside) throw new Error(`the declarations refer to a package: ${text.slice(outside.index, outside.index + 80)}`);
  return `${text}\nexport {};\n`;
}

/** Returns the declaration files of src/library.ts and the files that it imports, by their path below src. */
function emitDeclarations(root) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-types-'));
  try {
    const config = join(folder, 'tsconfig.json');
    const compilerOptions = {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      // `npm run lint` checks types; a build must not wait for that.
      noCheck: true,
      rootDir: join(root, 'src'),
      outDir: join(folder, 'out'),
      typeRoots: [join(root, 'node_modules/@types')],
      resolveJsonModule: false,
    };
    const extend = { extends: join(root, 'tsconfig.json'), compilerOptions };
    writeFileSync(config, JSON.stringify({ ...extend, files: [join(root, 'src/library.ts')], include: [] }));
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/lib/tsc.js'), '-p', config], {
      stdio: 'inherit',
    });
    const names = readdirSync(join(folder, 'out'), { recursive: true, encoding: 'utf8' });
    return new Map(
      names
        .filter((name) => name.endsWith('.d.ts'))
        .map((name) => [name, readFileSync(join(folder, 'out', name), 'utf8')]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Splits a declaration file into its top-level statements with their comments, by the name that each declares. */
function statementsOf(text) {
  const statement =
    /^((?:\/\*\*[\s\S]*?\*\/\n)?(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const) (\w+)[\s\S]*?)(?=^(?:\/\*\*|export|declare|import|interface|type)|(?![\s\S]))/gm;
  return new Map([...text.matchAll(statement)].map(([, whole, name]) => [name, whole]));
}

/** Turns the class of the service client into an interface with the members that `client` does not omit. */
function asInterface(statement, client) {
  if (!client || !/class ServiceClient\b/.test(statement)) return statement;
  const omitted = [...client.matchAll(/'(\w+)'/g)].map(([, name]) => name);
  // A member ends before the next line with the same indentation that does not start with a closing brace.
  const member = /^ {4}(?:\/\*\*[\s\S]*?\*\/\n {4})?(?:readonly )?(#?\w+)[\s\S]*?;\n(?= {4}[\w#/]|\})/gm;
  const members = [...statement.matchAll(member)];
  const kept = members.filter(([, name]) => !name.startsWith('#') && ![...omitted, 'constructor'].includes(name));
  return `interface ServiceClient {\n${kept.map(([member]) => member).join('')}}\n`;
}
