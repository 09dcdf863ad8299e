import { CommanderError } from 'commander';
import { HeddleError } from '../../core/errors.ts';
import { meantName } from '../../text/names.ts';
import listed from '../../tools/definition/listed.json' with { type: 'json' };
import { hasOption, invocation, withProgramName } from '../invocation.ts';
import { escapeControls } from './print.ts';

/** A mistake in how a command was called. It is reported in one line, with exit code 2. */
export class UsageError extends Error {}

export const orList = new Intl.ListFormat('en', { type: 'disjunction' });

/** Returns ` (did you mean NAME?)` if a known name is spelled nearly like a text or begins with it, else an empty text. */
export function didYouMean(text: string, known: readonly string[]): string {
  const name = meantName(text, known);
  const meant = name === undefined ? known.filter((each) => each.startsWith(`${text}-`)) : [name];
  return meant.length === 0 ? '' : ` (did you mean ${orList.format(meant)}?)`;
}

/** Returns whether an option or a key is named like a secret; a limit of tokens is none. */
export function isSecretName(name: string): boolean {
  return /^(?!max|min)(?:.*[-_])?(?:token|secret|pass|passw[a-z]*|bearer|credentials?|(?<=[-_])key|apikey)$/i.test(
    name,
  );
}

/** Returns whether the command line asks for JSON; errors are then JSON too. */
export function wantsJson(): boolean {
  return hasOption('--json');
}

/** Errors of a command that was told to use what does not exist or does not fit. */
const wrongUse: readonly string[] = ['invalid_arguments', 'not_found'];

/** A failure of a command whose exit code 1 has a meaning of its own: that results are below a threshold. */
export class FailedWork extends Error {
  constructor(cause: unknown) {
    super('The command could not do its work.', { cause });
  }
}

/**
 * Reports an error on stderr, without secrets, and returns the exit code: 2 for wrong usage or configuration, also in
 * {@link FailedWork}, whose other causes give 3, else 1.
 */
export function reportFailure(error: unknown): number {
  // Commander has already printed its message; its errors with exit code 0 are help and version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof FailedWork) {
    const { cause } = error;
    const isWrongUse = cause instanceof HeddleError && wrongUse.includes(cause.code);
    return reportFailure(cause) === 2 || isWrongUse ? 2 : 3;
  }
  if (error instanceof UsageError) {
    reportUsage(error.message);
    return 2;
  }
  if (error instanceof HeddleError) {
    // Settings take the names of tools.
    const isSetting = error.code === 'not_configured';
    printError(`${error.message}\n${isSetting ? error.hint : hintForPeople(error)}`, error);
    return isSetting ? 2 : 1;
  }
  const text = `unexpected failure: ${error instanceof Error ? error.stack : error}`;
  printError(text, { code: 'internal', message: text });
  return 1;
}

/** Reports the error of a tool: what happened and the next step, then the part of a reply that arrived, if any. */
export function reportToolError(error: HeddleError): void {
  const { message, code, status, partialText } = error;
  const facts = status === undefined ? code : `${code}, status ${status}`;
  const partial = partialText === undefined ? '' : `\nReceived until then:\n${partialText}`;
  printError(escapeControls(`${message}\n${hintForPeople(error)} (${facts})${partial}`), error);
}

/** Tools for which a command has a name of its own. */
const commandsOfTools = new Map([
  ['list_queues', 'heddle queue list'],
  ['review_queue', 'heddle board'],
  ['create_evaluation', 'heddle evaluation run --config FILE'],
  ['run_evaluation', 'heddle evaluation run'],
  ['read_evaluation', 'heddle evaluation list'],
]);

/** Returns the next step for a person at a terminal. */
export function hintForPeople({ hint, terminalHint }: HeddleError): string {
  return terminalHint ?? inCommands(hint);
}

/**
 * Returns a hint that names tools and the user, as agents need it, with the commands that do the same and the names of objects,
 * addressed to the user.
 */
export function inCommands(ofTools: string): string {
  const names = new Set(listed.map(({ name }) => name));
  // The runs and the list of evaluations have one command.
  return ofTools
    .replaceAll(/\bAsk the user to (\w)/g, (_, first: string) => first.toUpperCase())
    .replaceAll('ask the user to ', '')
    .replaceAll(/\b([Cc])all again\b/g, (_, first: string) => `${first === 'C' ? 'R' : 'r'}un the command again`)
    .replaceAll(/\bas project_id\b/g, 'with --project')
    .replaceAll(/\bproject_id\b/g, '--project')
    .replaceAll(/\brun_ids of\b/g, 'the ids of')
    .replaceAll('list_objects with kind evaluation', 'read_evaluation')
    .replace(/^The nearest are .*/, (line) =>
      line.replaceAll(/weave:\/\/\/[^\s,/]+\/[^\s,/]+\/\w+\/([^\s,/:]+):\w+/g, '$1'),
    )
    .replaceAll(
      /(Call |(?:heddle|\.m?js) call )?\b([a-z]+(?:_[a-z]+)+)\b/g,
      (text, before: string = '', name: string) => {
        if (!names.has(name) || before.endsWith(' call ')) return text;
        const command = `\`${commandsOfTools.get(name) ?? `heddle call ${name}`}\``;
        return before === 'Call ' ? `Run ${command}` : command;
      },
    );
}

/** Reports a mistake in how a command was called. */
export function reportUsage(message: string): void {
  printError(message, { code: 'usage', message });
}

function printError(text: string, error: object): void {
  const { redactor, stderr } = invocation();
  const written = wantsJson()
    ? JSON.stringify(redactor.redactStrings(error))
    : redactor.redact(`heddle: ${withProgramName(text)}`);
  stderr.write(`${written}\n`);
}
