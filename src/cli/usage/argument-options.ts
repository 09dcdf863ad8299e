import type { Command } from 'commander';
import { HeddleError } from '../../core/errors.ts';
import type { ListedTool } from '../../tools/definition/registry.ts';

/** Options for arguments of tools that have another name, by the path of the argument. */
const optionNames = new Map([
  ['messages', 'messages-file'],
  ['budget.usd', 'max-usd'],
]);

/** Returns an error that blames arguments of a tool with the options of the command that made the arguments. */
export function optionsInFaults(error: HeddleError, { inputJsonSchema }: ListedTool, command: Command): HeddleError {
  const { code, detail = [], statedDetails } = error;
  // Only the message about arguments that do not fit their schema consists of these details.
  if (code !== 'invalid_arguments' || !statedDetails) return error;
  const ofTool = Object.keys(inputJsonSchema.properties ?? {});
  const faults = detail.slice(0, statedDetails).map(({ loc, msg: fault }) => {
    const path = loc.slice(1).filter((part) => typeof part === 'string');
    if (path.length > 0) return `${wordOf(path.join('.'), command)}: ${fault}`;
    return `the command ${fault.replaceAll(/(?<!\bstored )\b[a-z_]+\b/g, (word) => (ofTool.includes(word) ? wordOf(word, command) : word))}`;
  });
  return new HeddleError({ ...error, message: `${faults.join('; ')}.` });
}

/** Returns the option or argument of a command for an argument of a tool; what has neither stands in a file. */
function wordOf(path: string, { options, registeredArguments }: Command): string {
  const option = `--${optionNames.get(path) ?? path.replaceAll('_', '-')}`;
  if (options.some(({ long }) => long === option)) return option;
  return /^run_ids?$/.test(path) ? registeredArguments.at(-1)!.name() : path;
}
