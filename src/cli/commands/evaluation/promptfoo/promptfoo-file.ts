import { dirname, extname, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { undefinedOnError } from '../../../../core/errors.ts';
import { canonicalJson } from '../../../../core/json/canonical-json.ts';
import { exactJson, withPlainNumbers } from '../../../../core/json/exact-number.ts';
import { isJsonObject, type Members, objectOrEmpty } from '../../../../core/json/json-object.ts';
import { ownMember } from '../../../../core/json/member-at.ts';
import { maxConcurrency } from '../../../../tools/run-evaluation.ts';
import { UsageError } from '../../../terminal/report-failure.ts';
import { readRows } from '../../import/read-rows.ts';
import { maxRunsOfFile } from '../evaluation-file.ts';
import { readNamedText, readYamlFile, type YamlFile } from '../yaml-file.ts';
import { fileNamed, type ImportNote, withPlaceholders } from './read-template.ts';
import { type AssertionParts, type PlacedAssertion, translateAssertions } from './translate-assertions.ts';

type Path = readonly PropertyKey[];

/** Rows that lists of variables can give. */
const maxRows = 10_000;
interface PlacedTest {
  test: Members;
  /** Returns the place of a part of it. */
  placeOf: (path: Path) => { file: string; line: number };
}

/**
 * Makes the file of an evaluation from a configuration of promptfoo, and stores nothing.
 * @returns the YAML, and a note for each part that was not taken, or not as it is.
 * @throws UsageError for a file that cannot be read or has no tests.
 */
export async function importPromptfooFile(file: string): Promise<{ text: string; notes: ImportNote[] }> {
  const yaml = readYamlFile(file);
  const notes: ImportNote[] = [];
  const config = objectOrEmpty(yaml.value);
  const folder = dirname(resolve(file));
  const note = (path: Path, message: string): void => {
    notes.push({ file, line: yaml.lineOf(path), message });
  };
  noteOthers(config, knownMembers, [], note);
  const models = modelsOf(config.providers ?? config.targets, 'providers' in config ? 'providers' : 'targets', note);
  const { prompts, names } = promptsOf(config.prompts, folder, note);
  const tests = await testsOf(config.tests, { yaml, file, folder, notes });
  const defaults = objectOrEmpty(config.defaultTest);
  noteOthers(defaults, testMembers, ['defaultTest'], note);
  const rows: Members[] = [];
  const asserted: AssertionParts[] = [];
  const judge = judgeModelOf(defaults) ?? models[0]!;
  for (const { test, placeOf } of tests) {
    const add = (path: Path, message: string): void => {
      notes.push({ ...placeOf(path), message });
    };
    noteOthers(test, testMembers, [], add);
    const given: PlacedAssertion[] = [
      ...assertionsOf(defaults, (path) => ({ file, line: yaml.lineOf(['defaultTest', ...path]) })),
      ...assertionsOf(test, placeOf),
    ];
    const threshold = test.threshold ?? defaults.threshold;
    for (const vars of variantsOf({ ...objectOrEmpty(defaults.vars), ...objectOrEmpty(test.vars) }, folder, add)) {
      const filled = Object.fromEntries(names.filter((name) => !Object.hasOwn(vars, name)).map((name) => [name, '']));
      const id = typeof test.description === 'string' && !Object.hasOwn(vars, 'id') ? { id: test.description } : {};
      rows.push({ ...id, ...vars, ...filled });
      if (rows.length > maxRows) throw new UsageError(`${file} gives more than ${maxRows} rows`);
      asserted.push({ assertions: given, threshold, vars, judge: judgeModelOf(test) ?? judge });
    }
  }
  const { scorers, columns } = translateAssertions(asserted, {
    folder,
    notes,
    columns: new Set(rows.flatMap(Object.keys)),
  });
  if (scorers.length === 0) throw new UsageError(`${file} has no assertion that could be taken\n${listNotes(notes)}`);
  const runs = models.length * prompts.length;
  if (runs > maxRunsOfFile) note(['prompts'], `gives ${runs} runs; one command compares ${maxRunsOfFile} at most`);
  const options = objectOrEmpty(config.evaluateOptions);
  noteOthers(options, new Set(['maxConcurrency', 'repeat']), ['evaluateOptions'], note);
  const { maxConcurrency: concurrency, repeat } = options;
  const evaluation = {
    name: objectNameOf(config.description) ?? 'promptfoo',
    dataset: { rows: rows.map((row, index) => ({ ...row, ...columns[index] })) },
    scorers,
    models,
    prompts,
    ...(typeof repeat === 'number' && { trials: repeat }),
    ...(typeof concurrency === 'number' && { concurrency: Math.min(maxConcurrency, concurrency) }),
  };
  return { text: stringify(evaluation, { lineWidth: 0, aliasDuplicateObjects: false }), notes: distinct(notes) };
}

/** Formats notes, a line for each. */
export function listNotes(notes: readonly ImportNote[]): string {
  return notes.map(({ file, line, message }) => `${file}:${line}: ${message}`).join('\n');
}

/** A note on a part of defaultTest comes once for each row. */
function distinct(notes: readonly ImportNote[]): ImportNote[] {
  const unique = [...new Map(notes.map((note) => [canonicalJson(note), note])).values()];
  return unique.sort((a, b) => (a.file === b.file ? a.line - b.line : 0));
}

const knownMembers = new Set([
  'description',
  'prompts',
  'providers',
  'targets',
  'tests',
  'defaultTest',
  'evaluateOptions',
  '$schema',
]);
const testMembers = new Set(['vars', 'assert', 'threshold', 'description', 'options']);

type AddNote = (path: Path, message: string) => void;

function noteOthers(value: Members, known: ReadonlySet<string>, path: Path, note: AddNote): void {
  for (const name of Object.keys(value)) if (!known.has(name)) note([...path, name], `${name} is not taken`);
  const { provider: _, ...options } = known === testMembers ? objectOrEmpty(value.options) : {};
  for (const name of Object.keys(options)) note([...path, 'options', name], `options.${name} is not taken`);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

/** Returns a description as the name of an object; undefined if nothing remains of it. */
function objectNameOf(description: unknown): string | undefined {
  const name =
    typeof description === 'string'
      ? description
          .replace(/[^\p{L}\p{N}_.-]+/gu, ' ')
          .trim()
          .slice(0, 100)
      : '';
  return name || undefined;
}

/** Providers that are programs, which heddle does not run. */
const programs = /^(exec|file|python|golang|ruby|https?|wss?|webhook|package|browser|mcp)\b/;

/** Returns the id of the model of a provider; undefined for one that is a program. */
function modelOf(id: string): string | undefined {
  if (id === 'echo') return 'heddle/echo';
  if (programs.test(id) || /\.(js|mjs|ts|py)$/.test(id)) return undefined;
  return id.replace(/^[a-z-]+:((chat|completion|responses|messages):)?/, '') || undefined;
}

function modelsOf(value: unknown, member: string, note: AddNote): string[] {
  const models = listOf(value).flatMap((provider, index) => {
    const path = Array.isArray(value) ? [member, index] : [member];
    const [first] = Object.entries(objectOrEmpty(provider));
    // Also {"openai:gpt-4o": {config}}.
    const id = typeof provider === 'string' ? provider : (ownMember(provider, 'id') ?? first?.[0]);
    const model = typeof id === 'string' ? modelOf(id) : undefined;
    if (model === undefined) note(path, `the provider ${String(id)} is not taken: it is no model`);
    else {
      if (model === 'heddle/echo') note(path, 'echo became heddle/echo, which replies with more than the prompt');
      else if (model !== id) note(path, `the provider ${String(id)} became the model ${model}: check its name`);
      const others = isJsonObject(provider)
        ? Object.keys(provider).filter((name) => !['id', 'label'].includes(name))
        : [];
      if (others.length > 0) note(path, `of the provider ${String(id)}, ${others.join(', ')} is not taken`);
    }
    return model ?? [];
  });
  if (models.length > 0) return [...new Set(models)];
  note([member], 'there is no provider that is a model, so the file names heddle/echo');
  return ['heddle/echo'];
}

/** Returns the model that grades a test, if it names one. */
function judgeModelOf({ options }: Members): string | undefined {
  const provider = ownMember(options, 'provider');
  const id = typeof provider === 'string' ? provider : ownMember(provider, 'id');
  return typeof id === 'string' ? modelOf(id) : undefined;
}

function promptsOf(value: unknown, folder: string, note: AddNote): { prompts: unknown[]; names: string[] } {
  const names = new Set<string>();
  const prompts = listOf(value).flatMap((prompt, index) => {
    const path = Array.isArray(value) ? ['prompts', index] : ['prompts'];
    const given = isJsonObject(prompt) ? (prompt.raw ?? prompt.id) : prompt;
    if (typeof given !== 'string') {
      note(path, 'the prompt is not taken: it is no text');
      return [];
    }
    const file = fileNamed(given, folder);
    if (file === undefined && given.startsWith('file://')) {
      note(path, `the prompt ${given} is not taken: the file is not there, or is a pattern for several`);
      return [];
    }
    if (file !== undefined && !/^\.(txt|md|json|ya?ml)$/i.test(extname(file))) {
      note(path, `the prompt ${given} is not taken: only text, JSON and YAML are`);
      return [];
    }
    const text = file === undefined ? given : readNamedText(file);
    const texts =
      file !== undefined && /\.txt$/i.test(file) ? text.split(/^---\r?\n/m).map((part) => part.trim()) : [text];
    return texts.filter(Boolean).flatMap((one) => {
      const taken = promptOf(one, names);
      if (taken === undefined) note(path, 'the prompt is not taken: of templates only {{name}} is');
      return taken ?? [];
    });
  });
  if (prompts.length === 0) throw new UsageError('no prompt could be taken');
  return { prompts, names: [...names] };
}

/** Returns a prompt in the form of heddle: its text, or its messages; undefined for a template that is more than variables. */
function promptOf(text: string, names: Set<string>): unknown {
  const messages = /^\s*(\[|- role:)/.test(text) ? chatOf(text) : undefined;
  if (messages === undefined) return withPlaceholders(text, names);
  const filled = messages.map((message) => {
    const { content } = message;
    return typeof content === 'string' ? { ...message, content: withPlaceholders(content, names) } : undefined;
  });
  return filled.every((message) => message?.content !== undefined) ? { messages: filled } : undefined;
}

function chatOf(text: string): Members[] | undefined {
  const value: unknown = undefinedOnError(() => parse(text));
  const isChat = Array.isArray(value) && value.every((message) => typeof ownMember(message, 'role') === 'string');
  return isChat ? value : undefined;
}

/** Returns the variables of each row of a test: lists of values give a row for each. */
function variantsOf(vars: Members, folder: string, note: AddNote): Members[] {
  let variants: Members[] = [{}];
  for (const [name, given] of Object.entries(vars)) {
    const values = Array.isArray(given) && given.length > 0 ? given : [given];
    if (variants.length * values.length > maxRows) throw new UsageError(`the variables give more than ${maxRows} rows`);
    const read = values.map((value) => {
      if (typeof value !== 'string' || !value.startsWith('file://')) return value;
      const file = fileNamed(value, folder);
      if (file !== undefined && /\.(txt|md)$/i.test(file)) return readNamedText(file).trim();
      if (file !== undefined && /\.(json|ya?ml)$/i.test(file)) return readYamlFile(file).value;
      note(['vars', name], `the variable ${name} keeps its text ${value}: such a file is not read`);
      return value;
    });
    variants = variants.flatMap((variant) => read.map((value) => ({ ...variant, [name]: value })));
  }
  return variants.every((variant) => Object.keys(variant).length > 0) ? variants : [{ test: '' }];
}

interface Source {
  yaml: YamlFile;
  file: string;
  folder: string;
  notes: ImportNote[];
}

/** Returns the tests of a configuration, with those of the files that it names. */
async function testsOf(value: unknown, { yaml, file, folder, notes }: Source): Promise<PlacedTest[]> {
  const tests: PlacedTest[] = [];
  for (const [index, test] of listOf(value).entries()) {
    const path = Array.isArray(value) ? ['tests', index] : ['tests'];
    if (isJsonObject(test)) {
      tests.push({ test, placeOf: (part) => ({ file, line: yaml.lineOf([...path, ...part]) }) });
      continue;
    }
    const named = typeof test === 'string' ? fileNamed(test, folder) : undefined;
    if (named === undefined || !/\.(csv|jsonl|json|ya?ml)$/i.test(named)) {
      notes.push({
        file,
        line: yaml.lineOf(path),
        message: `the tests ${JSON.stringify(test)} are not taken: they are no file of CSV, JSON or YAML`,
      });
    } else tests.push(...(await testsOfFile(named, notes)));
  }
  // Without tests, promptfoo runs the prompts as they are.
  return tests.length > 0 ? tests : [{ test: {}, placeOf: () => ({ file, line: 1 }) }];
}

async function testsOfFile(file: string, notes: ImportNote[]): Promise<PlacedTest[]> {
  if (/\.(json|ya?ml)$/i.test(file)) {
    const inner = readYamlFile(file);
    return listOf(inner.value).flatMap((test, index) =>
      isJsonObject(test) ? [{ test, placeOf: (part: Path) => ({ file, line: inner.lineOf([index, ...part]) }) }] : [],
    );
  }
  const tests: PlacedTest[] = [];
  for await (const { line, value, isCells } of readRows(file, { isKnownRow: () => false })) {
    if (typeof value === 'string') {
      if (value.trim() !== '') notes.push({ file, line, message: 'the line is not taken: it is no JSON object' });
      continue;
    }
    const row = withPlainNumbers(JSON.parse(exactJson(value))) as Members;
    tests.push({ test: isCells ? testOfCells(row) : row, placeOf: () => ({ file, line }) });
  }
  return tests;
}

/** Returns the test of a line of CSV: `__expected` columns hold assertions, like `contains: Oslo`, and others variables. */
function testOfCells(row: Members): Members {
  const cells = Object.entries(row);
  const assertions = cells.flatMap(([name, cell]) =>
    /^__expected\d*$/.test(name) && String(cell).trim() !== '' ? [assertionOfCell(String(cell))] : [],
  );
  const named = new Map(cells);
  const others = cells.filter(
    ([name]) => name.startsWith('__') && !/^__(expected\d*|description|threshold)$/.test(name),
  );
  return {
    vars: Object.fromEntries(cells.filter(([name]) => !name.startsWith('__'))),
    assert: assertions,
    ...(named.get('__description') ? { description: named.get('__description') } : {}),
    ...(named.get('__threshold') ? { threshold: Number(named.get('__threshold')) } : {}),
    ...Object.fromEntries(others.filter(([, cell]) => cell !== '')),
  };
}

function assertionOfCell(cell: string): Members {
  const [, type, threshold, value] = /^([a-z-]+)(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?$/s.exec(cell.trim()) ?? [];
  const alone = new Set(['is-json', 'not-is-json', 'latency', 'cost']);
  if (type === undefined || (value === undefined && !alone.has(type))) return { type: 'equals', value: cell };
  return {
    type: type === 'grade' ? 'llm-rubric' : type === 'fn' ? 'javascript' : type,
    ...(value !== undefined && { value: value.trim() }),
    ...(threshold !== undefined && { threshold: Number(threshold) }),
  };
}

function assertionsOf({ assert }: Members, placeOf: PlacedTest['placeOf']): PlacedAssertion[] {
  return listOf(assert).map((assertion, index) => ({
    assertion: objectOrEmpty(assertion),
    placeOf: (path) => placeOf(['assert', index, ...path]),
  }));
}
