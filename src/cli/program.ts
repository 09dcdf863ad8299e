import { Command } from 'commander';
import { version } from '../core/version.ts';
import { onUncaught } from '../runtime/process-lifecycle.ts';
import { reportFailure, UsageError } from './support/report-failure.ts';
import { keychainCommand, redactor } from './support/secrets.ts';

/** Loads the function that adds a command to the program, only when the command runs or the help lists it. */
const commands: Record<string, () => Promise<(program: Command) => void>> = {
  serve: async () => (await import('./commands/serve.ts')).addServe,
  setup: async () => (await import('./commands/setup.ts')).addSetup,
  call: async () => (await import('./commands/call.ts')).addCall,
  tools: async () => (await import('./commands/tools.ts')).addTools,
  login: async () => (await import('./commands/login/login.ts')).addLogin,
  logout: async () => (await import('./commands/logout.ts')).addLogout,
  status: async () => (await import('./commands/status.ts')).addStatus,
  doctor: async () => (await import('./commands/doctor/doctor.ts')).addDoctor,
  evaluation: async () => (await import('./commands/evaluation/evaluation.ts')).addEvaluation,
  service: async () => (await import('./commands/service/service.ts')).addService,
  demo: async () => (await import('./commands/demo/demo.ts')).addDemo,
  [keychainCommand]: async () => (await import('./commands/access-keychain.ts')).addAccessKeychain,
};

/** Runs the command that `process.argv` names. Reports failures on stderr and sets the exit code. */
export async function run(): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as `head` closed the pipe, which is no failure.
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  redactor.protectEnvironment(process.env);
  onUncaught((error) => process.exit(reportFailure(error)));
  try {
    const program = new Command('heddle')
      .description(
        'MCP server for annotation queues, model inference and evaluations. Without a command: heddle serve.',
      )
      .version(version)
      .exitOverride()
      .showHelpAfterError(
        'Run the command with --help for its flags. Secrets have no flags: see `heddle login --help`.',
      )
      .configureOutput({ outputError: (text, write) => write(redactor.redact(withoutValues(text))) })
      .showSuggestionAfterError()
      .configureHelp({ showGlobalOptions: false });
    for (const name of commandsToLoad(process.argv.slice(2))) (await commands[name]!())(program);
    await program.parseAsync();
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}

/** Removes the values of flags from a message of commander: somebody may have written a secret there. */
function withoutValues(message: string): string {
  return message
    .replace(/^(error: unknown option '[^'=]*)=.*'$/m, "$1'")
    .replace(/ argument '.*' (?=is invalid)/s, ' ');
}

/** Returns the command of a command line, or every command if its help lists them. @throws UsageError if it is unknown. */
function commandsToLoad(args: string[]): string[] {
  const [name = 'serve'] = args;
  const names = Object.keys(commands);
  if (names.includes(name)) return [name];
  if (name !== 'help' && !name.startsWith('-')) {
    const visible = names.filter((each) => each !== keychainCommand);
    throw new UsageError(`unknown command '${name}'; available commands: ${visible.join(', ')}, help`);
  }
  return name === 'help' || args.includes('--help') || args.includes('-h') ? names : ['serve'];
}
