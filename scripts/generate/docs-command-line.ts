import { type Argument, type Command, Help, type Option } from 'commander';
import { createProgram, lineOf } from '../../src/cli/program.ts';
import { runtimeFlags } from '../../src/cli/usage/flags.ts';
import { helpPartsOf, settingsHeading } from '../../src/cli/usage/help.ts';
import { code, heading, table } from './markdown.ts';

const help = new Help();

/** Returns docs/command-line.md: every command with its arguments, options and examples, from the parser. */
export async function docsCommandLine(): Promise<string> {
  const program = await createProgram();
  const commands = program.commands.filter((command) => command.name() !== 'help');
  return `${heading('Command line')}
${program.description()}

${helpPartsOf(program)!.notes!.join(' ')}

\`heddle COMMAND --help\` prints what this page says about a command. Shared settings
can also come from the environment or a profile; [configuration](configuration.md) describes them.

${table(
  ['', 'Command', 'Purpose'],
  commands.map((command, index) => [
    commands[index - 1]?.helpGroup() === command.helpGroup() ? '' : command.helpGroup().replace(/:$/, ''),
    `[${command.name()}](#${anchorOf(command)})`,
    asSentence(command.description()),
  ]),
)}

${commands.map((command) => section(command, 2)).join('\n')}`;
}

function section(command: Command, level: number): string {
  const visible = help.visibleOptions(command);
  const shared = visible.filter(({ helpGroupHeading }) => helpGroupHeading === settingsHeading);
  const own = visible.filter((option) => !shared.includes(option) && option.long !== '--help');
  const { examples = [], page } = helpPartsOf(command) ?? {};
  const rows = [...help.visibleArguments(command).map(argumentRow), ...own.map(optionRow)];
  const parts = [
    `${'#'.repeat(level)} ${lineOf(command)}`,
    asSentence(command.description()),
    ...(command.commands.length === 0 ? [`\`\`\`text\n${help.commandUsage(command)}\n\`\`\``] : []),
    ...(rows.length > 0 ? [table(['Argument or option', 'Meaning'], rows)] : []),
    ...(shared.length > 0 ? [sharedSettings(shared)] : []),
    ...(examples.length > 0 ? [`\`\`\`text\n${examples.map((example) => `$ ${example}`).join('\n')}\n\`\`\``] : []),
    ...(page === undefined ? [] : [`See ${linksOf(page)}.`]),
  ];
  const inner = help
    .visibleCommands(command)
    .filter((each) => each.name() !== 'help')
    .map((each) => section(each, level + 1));
  return `${[parts.join('\n\n'), ...inner].join('\n\n')}${level === 2 ? '\n' : ''}`;
}

function sharedSettings(options: readonly Option[]): string {
  if (options.length === runtimeFlags.length) return 'Takes the flags of all [shared settings](configuration.md).';
  return `[Shared settings](configuration.md): ${options.map(({ long }) => code(long!)).join(', ')}.`;
}

function argumentRow(argument: Argument): string[] {
  return [code(help.argumentTerm(argument)), asSentence(help.argumentDescription(argument))];
}

function optionRow(option: Option): string[] {
  return [code(option.flags), asSentence(help.optionDescription(option))];
}

/** Turns pages like `docs/service.md#models, README.md` into links from the folder docs. */
function linksOf(page: string): string {
  return page
    .split(', ')
    .map((path) => `[${path}](${path.startsWith('docs/') ? path.slice('docs/'.length) : `../${path}`})`)
    .join(' and ');
}

function anchorOf(command: Command): string {
  return lineOf(command).replaceAll(' ', '-');
}

function asSentence(text: string): string {
  return text === '' ? '' : `${text[0]!.toUpperCase()}${text.slice(1)}.`;
}
