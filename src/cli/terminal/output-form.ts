import { type Command, Option } from 'commander';
import { invocation } from '../invocation.ts';

/** The options that choose how a command prints its result. */
export interface OutputForm {
  json?: true;
  table?: true;
}

/** Adds the options of {@link OutputForm}. Every command that prints a result has them. */
export function addOutputOptions(command: Command): Command {
  return command
    .option('--json', 'print JSON, the default in a pipe or a file; errors are JSON too')
    .addOption(new Option('--table', 'print for people, the default on a terminal').conflicts('json'));
}

/** Returns whether a command prints its result for people rather than as JSON. */
export function isForPeople({ json, table }: OutputForm): boolean {
  return table ?? (!json && invocation().stdout.isTTY === true);
}
