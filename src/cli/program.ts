import { Command } from 'commander';
import { ownMember } from '../core/json/member-at.ts';
import { build, version } from '../core/version.ts';
import { meantName } from '../text/names.ts';
import { keychainCommand } from './access/secrets.ts';
import { invocation, withProgramName } from './invocation.ts';
import { completeCommand } from './terminal/complete-line.ts';
import {
  didYouMean,
  inCommands,
  isSecretName,
  orList,
  reportUsage,
  UsageError,
  wantsJson,
} from './terminal/report-failure.ts';
import { explain, styleHelp, wantsWholeHelp, wholeHelp } from './usage/help.ts';
import { splitLeadingSettings } from './usage/setting-flags.ts';

/** Loads the function that adds a command to the program, only when the command runs or the help lists it. */
const commands: Record<string, () => Promise<(program: Command) => void>> = {
  serve: async () => (await import('./commands/serve.ts')).addServe,
  setup: async () => (await import('./commands/setup.ts')).addSetup,
  board: async () => (await import('./commands/board.ts')).addBoard,
  import: async () => (await import('./commands/import/import.ts')).addImport,
  call: async () => (await import('./commands/call.ts')).addCall,
  tools: async () => (await import('./commands/tools.ts')).addTools,
  login: async () => (await import('./commands/login/login.ts')).addLogin,
  logout: async () => (await import('./commands/logout.ts')).addLogout,
  config: async () => (await import('./commands/config.ts')).addConfig,
  status: async () => (await import('./commands/status.ts')).addStatus,
  doctor: async () => (await import('./commands/doctor/doctor.ts')).addDoctor,
  evaluation: async () => (await import('./commands/evaluation/evaluation.ts')).addEvaluation,
  price: async () => (await import('./commands/price.ts')).addPrice,
  service: async () => (await import('./commands/service/service.ts')).addService,
  queue: async () => (await import('./commands/queue.ts')).addQueue,
  demo: async () => (await import('./commands/demo/demo.ts')).addDemo,
  completion: async () => (await import('./commands/completion.ts')).addCompletion,
  [completeCommand]: async () => (await import('./commands/completion.ts')).addComplete,
  [keychainCommand]: async () => (await import('./commands/keychain-process.ts')).addAccessKeychain,
};

/** The headings of the help, with the commands below each in their order. */
const headings: Record<string, readonly string[]> = {
  'Start here:': ['demo', 'setup', 'serve'],
  'Queues, evaluations and tools:': ['import', 'board', 'queue', 'evaluation', 'price', 'call', 'tools'],
  'Your service:': ['login', 'logout', 'config', 'status', 'doctor'],
  'The embedded service:': ['service'],
  'Shell:': ['completion', 'help'],
};

const hiddenCommands = [completeCommand, keychainCommand];

/** Runs the command that the arguments name. @throws the failure of the command, or the mistake in how it was called. */
export async function parseAndRun(given: readonly string[]): Promise<void> {
  const args = parsableLine(given);
  const program = await createProgram(await commandsToLoad(args));
  if (given[0] === 'help') requireSubcommand(program, given.slice(1));
  await program.parseAsync(args, { from: 'user' });
}

/** Returns a command line as the parser takes it: settings behind their command, and `--help` for `help` and `--help-all`. */
function parsableLine(given: readonly string[]): string[] {
  const leading = splitLeadingSettings(given);
  const [first = '', ...others] = leading.rest;
  if (first === 'help' && others.length > 0) return [...others, '--help'];
  if (first !== wholeHelp && !Object.hasOwn(commands, first)) {
    return first === '' || first.startsWith('-') ? [...given] : [...leading.rest, ...leading.settings];
  }
  if (hiddenCommands.includes(first)) return [...given];
  // Also between a command and the one below it.
  const inner = splitLeadingSettings(others);
  const { rest } = inner;
  // Behind the words of the command, and before its other options: of two values, the last one counts.
  const option = rest.findIndex((word) => word.startsWith('-'));
  const line = [
    first,
    ...rest.toSpliced(option === -1 ? rest.length : option, 0, ...leading.settings, ...inner.settings),
  ];
  return wantsWholeHelp() ? line.map((word) => (word === wholeHelp ? '--help' : word)) : line;
}

/** Checks that the command whose help is asked for exists below another one. @throws UsageError with the nearest one. */
function requireSubcommand(program: Command, [name, subcommand]: readonly string[]): void {
  const known = program.commands.find((command) => command.name() === name)?.commands.map((command) => command.name());
  if (subcommand === undefined || !known?.length || known.includes(subcommand)) return;
  const meant = meantName(subcommand, known);
  const suggestion = meant === undefined ? '' : ` (did you mean \`heddle help ${name} ${meant}\`?)`;
  throw new UsageError(`unknown command '${subcommand}'${suggestion}; commands: ${known.join(', ')}`);
}

/** Creates the parser of the command line with these commands, by default with all that people use. */
export async function createProgram(names: readonly string[] = commandNames()): Promise<Command> {
  const program = styleHelp(new Command('heddle'))
    .description('MCP server for annotation queues, model inference and evaluations. Without a command: heddle serve.')
    .version(`${version} (${build})`, '-V, --version', 'print the version and the build')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => invocation().stdout.write(text),
      writeErr: (text) => invocation().stderr.write(text),
      outputError: (text) => {
        reportUsage(readableUsage(text, program));
        if (!wantsJson()) invocation().stderr.write(`${withProgramName(nextStep(text, program))}\n`);
      },
    })
    .showSuggestionAfterError();
  explain(program, {
    examples: [
      'heddle demo                          # see the main job in a minute, without an account',
      'heddle setup claude-desktop          # add heddle to a client',
      'heddle call list_queues              # call a tool as a model does',
      'heddle import answers.csv            # fill a queue with the rows of a file',
    ],
    page: 'README.md; `heddle COMMAND --help` names the page of each command',
    notes: [
      'Results are printed for people on a terminal, and as JSON in a pipe or a file; --json and --table choose. Exports print their own formats.',
      'A table becomes a list for each row if scores, judgements or choices would be cut, and below 120 columns if anything would.',
      '`heddle COMMAND --help-all` also lists the settings that many commands share; they may stand before the command.',
      'Errors go to stderr. Exit codes: 0 all was done, 1 failed in whole or in part, 2 wrong usage or configuration.',
    ],
  });
  const heading = (name: string): string =>
    Object.keys(headings).find((key) => ownMember(headings, key)!.includes(name)) ?? 'More:';
  program.addHelpCommand(
    new Command('help').argument('[command]').description('show the help of a command').helpGroup('Shell:'),
  );
  for (const name of names) {
    (await ownMember(commands, name)!())(program);
    program.commands.at(-1)!.helpGroup(heading(name));
  }
  return program;
}

/** Returns the names of the commands that people use, in the order of the help. */
function commandNames(): string[] {
  const listed = Object.values(headings).flat();
  const names = Object.keys(commands).filter((name) => !hiddenCommands.includes(name));
  return [...listed.filter((name) => names.includes(name)), ...names.filter((name) => !listed.includes(name))];
}

/** Returns a message of commander as one line, without the values of options, which may be secrets. */
function readableUsage(text: string, program: Command): string {
  const [, value, choices] =
    /\b(?:argument|value) '(.*)' is invalid\b.* Allowed choices are (.*)\.$/s.exec(text.trim()) ?? [];
  const names = choices?.split(', ') ?? [];
  const suggestion = value === undefined ? '' : didYouMean(value, names);
  const [, argument] = /^error: command-argument value '.*' is invalid for argument '([\w-]+)'/s.exec(text) ?? [];
  if (argument !== undefined && choices !== undefined) {
    return `unknown ${argument}${suggestion}: name one of ${choices}`;
  }
  const message = text
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^'=]*)=.*'$/m, "$1'")
    .replace(/ argument '.*' (?=is invalid)/s, ' ')
    .trim();
  const group = groupOf(program);
  const [, unknown] = /^error: unknown command '([\w-]*)'/.exec(text) ?? [];
  const inGroup = (names: readonly string[]): string =>
    orList.format(group && unknown !== undefined ? names.map((name) => `\`${lineOf(group)} ${name}\``) : names);
  const meant = /\n\(Did you mean (?:one of )?(.*)\?\)$/;
  const other = otherSubcommands.get(`${group?.name()} ${unknown}`);
  if (other !== undefined) return `${message.replace(meant, '')} (did you mean \`heddle ${other}\`?)`;
  if (group && unknown !== undefined && !meant.test(message)) {
    const named = group.commands.map((each) => each.name()).filter((name) => meantName(unknown, name.split('-')));
    return named.length === 0 ? message : `${message} (did you mean ${inGroup(named)}?)`;
  }
  return message.replace(meant, (_, names: string) => ` (did you mean ${inGroup(names.split(', '))}?)`) + suggestion;
}

/** Returns what to do about a mistake in a command line. */
function nextStep(message: string, program: Command): string {
  const group = groupOf(program);
  if (group && message.startsWith('error: unknown command')) {
    const names = group.commands.map((command) => command.name());
    return `The commands of \`${lineOf(group)}\` are ${andList.format(names)}.`;
  }
  const [, option = ''] = /unknown option '--?([\w-]*)/.exec(message) ?? [];
  return isSecretName(option)
    ? 'Secrets have no options: `heddle login --help` says where they come from.'
    : 'Run the command with --help for its options.';
}

/** Returns the command with others below it: of these, only the one of the command line is loaded. */
function groupOf(program: Command): Command | undefined {
  return program.commands.find(({ commands }) => commands.length > 0);
}

/** Commands that do what people may try under another name. */
const otherNames = new Map([
  ['judge', 'board'],
  ['label', 'board'],
  ['init', 'setup'],
  ['ls', 'queue list'],
  ['users', 'service list-users'],
  ['dataset', 'call list_objects \'{"kind":"dataset"}\''],
]);

/** Commands that do what people may try below another command. */
const otherSubcommands = new Map(
  ['create', 'new', 'add', 'import'].map((name) => [`queue ${name}`, 'import FILE --queue NAME']),
);

const andList = new Intl.ListFormat('en', { type: 'conjunction' });

/**
 * Returns the command whose name is spelled most like a word, as people type it; where it is below others, each command of this
 * name, or the one that the next word tells: `list queues` and `queues list` mean `heddle queue list`.
 */
async function meantCommands(word: string, next: string): Promise<string[]> {
  const tool = inCommands(word);
  if (tool !== word) return [tool];
  const program = await createProgram();
  const all = program.commands.flatMap((command) => [command, ...command.commands]);
  const nameOf = (command: Command): string => command.name();
  const meantOf = (text: string, known: readonly Command[]) => meantName(text, known.map(nameOf));
  const meant = meantName(word, [...all.map(nameOf), 'help', 'version', ...otherNames.keys()]);
  if (meant === 'version') return ['`heddle --version`'];
  if (meant === 'help') return ['`heddle help`'];
  const other = otherNames.get(meant ?? '');
  if (other !== undefined) return [`\`heddle ${other}\``];
  const named = all.filter((command) => command.name() === meant);
  const told = named.flatMap((command) => {
    const below = meantOf(next, command.commands);
    if (command.parent!.name() === meantOf(next, program.commands)) return [command];
    return command.commands.filter((each) => each.name() === below);
  });
  const whole = named.filter(({ parent }) => parent === program);
  const shown = [told, whole, named].find((found) => found.length > 0) ?? [];
  return shown.map((command) => `\`${lineOf(command)}\``);
}

/** Returns a command as people type it, like `heddle queue list`. */
export function lineOf(command: Command): string {
  return command.parent ? `${lineOf(command.parent)} ${command.name()}` : command.name();
}

/** Returns the command of a command line, or every command if its help lists them. @throws UsageError if it is unknown. */
async function commandsToLoad(args: readonly string[]): Promise<string[]> {
  const [name = 'serve'] = args;
  if (name === completeCommand) return [name, ...commandNames()];
  if (Object.hasOwn(commands, name)) return [name];
  if (name !== 'help' && !name.startsWith('-')) {
    const meant = await meantCommands(name, args[1] ?? '');
    throw new UsageError(
      meant.length > 0
        ? `unknown command '${name}' (did you mean ${orList.format(meant)}?)`
        : `unknown command '${name}'; available commands: ${[...commandNames(), 'help'].join(', ')}`,
    );
  }
  return name === 'help' || args.includes('--help') || args.includes('-h') ? commandNames() : ['serve'];
}
