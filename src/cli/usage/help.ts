import { type Argument, type Command, Help, type Option } from 'commander';
import { hasOption, invocation, programName, withProgramName } from '../invocation.ts';
import { columnsOf, paint, showsColors } from '../terminal/terminal.ts';

/** Heading of the options that many commands share. */
export const settingsHeading = 'Shared settings (each also from the environment or a profile, docs/configuration.md):';

/** The option that shows the help of a command with the settings that many share. */
export const wholeHelp = '--help-all';

/** Returns whether the command line asks for the help with all settings. */
export function wantsWholeHelp(): boolean {
  return hasOption(wholeHelp);
}

/** The part of a help text that commander does not write. */
export interface HelpParts {
  /** Command lines, with a comment behind `#` if they need one. */
  examples: readonly string[];
  /** Page of the documentation, like `docs/service.md`. */
  page: string;
  /** Lines between the examples and the page. */
  notes?: readonly string[];
}

/** Sets the look of the help texts of a program. Commands that are added later inherit it. */
export function styleHelp(program: Command): Command {
  return program
    .helpOption('-h, --help', 'show this help')
    .configureOutput({
      getOutHelpWidth: () => Math.min(columnsOf(invocation().stdout), 120),
      getErrHelpWidth: () => Math.min(columnsOf(invocation().stderr), 120),
      getOutHasColors: () => showsColors(invocation().stdout),
      getErrHasColors: () => showsColors(invocation().stderr),
    })
    .configureHelp({
      showGlobalOptions: false,
      minWidthToWrap: 20,
      commandUsage: (command) => asTyped(Help.prototype.commandUsage.call(new Help(), command)),
      visibleOptions(command) {
        const options = Help.prototype.visibleOptions.call(this, command);
        // Without a width, the parser looks for the option that was meant.
        return wantsWholeHelp() || this.helpWidth === undefined
          ? options
          : options.filter(({ helpGroupHeading }) => helpGroupHeading !== settingsHeading);
      },
      argumentDescription: (argument) => withProgramName(Help.prototype.argumentDescription.call(new Help(), argument)),
      styleTitle: (text) => paint('bold', text),
      styleCommandText: (text) => paint('cyan', text),
      styleSubcommandText: (text) => paint('cyan', text),
      styleOptionText: (text) => paint('cyan', text),
      styleArgumentText: (text) => paint('cyan', text),
    });
}

const parts = new WeakMap<Command, HelpParts>();

/** Returns the part of a command's help that commander does not write, for the page of the command line. */
export function helpPartsOf(command: Command): HelpParts | undefined {
  return parts.get(command);
}

/** Adds examples and the page of the documentation below the help of a command, unless `isReplaced` says that it has its own. */
export function explain(command: Command, helpParts: HelpParts, isReplaced = () => false): Command {
  const { examples, page, notes = [] } = helpParts;
  parts.set(command, helpParts);
  return command.addHelpText('after', () => {
    if (isReplaced()) return '';
    const title = paint('bold', examples.length === 1 ? 'Example:' : 'Examples:');
    const lines = examples.map((example) => `  ${paint('dim', '$')} ${asTyped(example)}`);
    const hidesSettings =
      !wantsWholeHelp() && command.options.some((option) => option.helpGroupHeading === settingsHeading);
    const rules = [
      ...notes,
      ...(hidesSettings ? [`Shared settings, such as --profile and --project: --help-all`] : []),
    ];
    const parts = ['', title, ...lines, ...(rules.length > 0 ? ['', ...rules] : []), ''];
    return withProgramName([...parts, `${paint('bold', 'Documentation:')} ${page}`].join('\n'));
  });
}

/** Returns a command line, or several with `&&` between them, as the user types it. */
export function asTyped(line: string): string {
  return line.replaceAll(/(?<=^|&& |\| )heddle(?= |$)/g, () => programName());
}

const completions = new WeakMap<Option | Argument, () => readonly string[]>();

/** Gives the completion of a shell the values of an option or argument that have no fixed choices. */
export function completeWith<Target extends Option | Argument>(
  target: Target,
  values: () => readonly string[],
): Target {
  completions.set(target, values);
  return target;
}

/** Returns the values that complete an option or argument. */
export function completionsOf(target: Option | Argument): readonly string[] {
  return target.argChoices ?? completions.get(target)?.() ?? [];
}
