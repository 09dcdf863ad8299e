import type { Command, Option } from 'commander';
import { completionsOf } from '../usage/help.ts';

/** Name of the hidden command that the completion scripts of the shells call. */
export const completeCommand = 'complete';

/**
 * Lists what may complete the last word of a command line, from the parser.
 * @param words the words behind `heddle`; the last may be empty.
 */
export function completeLine(program: Command, words: readonly string[]): string[] {
  const typed = words.at(-1) ?? '';
  let command = program;
  let operands = 0;
  let optionBefore: Option | undefined;
  for (const word of words.slice(0, -1)) {
    const isValue = optionBefore !== undefined;
    optionBefore = isValue ? undefined : optionWithValue(command, word);
    if (isValue || word.startsWith('-')) continue;
    const next = command.commands.find((each) => each.name() === word);
    if (next) [command, operands] = [next, 0];
    else operands += 1;
  }
  const [, name, value] = /^(--[\w-]+)=(.*)$/s.exec(typed) ?? [];
  if (name !== undefined) {
    const option = optionWithValue(command, name);
    return option ? startingWith(value!, completionsOf(option)).map((each) => `${name}=${each}`) : [];
  }
  if (optionBefore) return startingWith(typed, completionsOf(optionBefore));
  const help = command.createHelp();
  if (typed.startsWith('-')) {
    const names = help.visibleOptions(command).flatMap(({ long }) => long ?? []);
    return startingWith(typed, names);
  }
  const commands = help.visibleCommands(command).map((each) => each.name());
  const { registeredArguments } = command;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[operands] ?? (last?.variadic ? last : undefined);
  return startingWith(typed, [...(operands === 0 ? commands : []), ...(argument ? completionsOf(argument) : [])]);
}

function startingWith(typed: string, candidates: readonly string[]): string[] {
  return [...new Set(candidates)].filter((each) => each.startsWith(typed));
}

function optionWithValue(command: Command, word: string): Option | undefined {
  const option = command.options.find(({ long, short }) => word === long || word === short);
  return option && (option.required || option.optional) ? option : undefined;
}
