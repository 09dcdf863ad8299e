import { Command } from 'commander';
import { version } from '../core/version.ts';
import { onUncaught } from '../runtime/process-lifecycle.ts';
import { addCall } from './commands/call.ts';
import { addDemo } from './commands/demo.ts';
import { addDoctor } from './commands/doctor/doctor.ts';
import { addAccessKeychain } from './commands/keychain-helper.ts';
import { addLogin } from './commands/login/login.ts';
import { addLogout } from './commands/logout.ts';
import { addServe } from './commands/serve.ts';
import { addService } from './commands/service/service.ts';
import { addSetup } from './commands/setup/setup.ts';
import { addStatus } from './commands/status.ts';
import { addTools } from './commands/tools.ts';
import { redactor } from './support/redactor.ts';
import { reportFailure, UsageError } from './support/report-failure.ts';
import { keychainCommand } from './support/secrets.ts';

// These files are loaded at every start: what an action needs beyond settings is imported inside of it.
const commands = [
  addServe,
  addSetup,
  addCall,
  addTools,
  addLogin,
  addLogout,
  addStatus,
  addDoctor,
  addService,
  addDemo,
  addAccessKeychain,
];

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
    const program = createProgram();
    rejectUnknownCommand(program, process.argv[2]);
    await program.parseAsync();
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}

function createProgram(): Command {
  const program = new Command('heddle')
    .description('MCP server for annotation queues, model inference and evaluations. Without a command: heddle serve.')
    .version(version)
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: false });
  for (const addTo of commands) addTo(program);
  return program;
}

/** Throws for an unknown command, which commander would take for an argument of the default command. */
function rejectUnknownCommand(program: Command, name = '--help'): void {
  const names = program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name());
  if (name.startsWith('-') || name === keychainCommand || names.includes(name)) return;
  throw new UsageError(`unknown command '${name}'; available commands: ${names.join(', ')}`);
}
