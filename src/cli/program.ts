import { Command, CommanderError } from 'commander';
import { version } from '../core/version.ts';
import { addAccessKeychain } from './commands/access-keychain.ts';
import { addCall } from './commands/call.ts';
import { addDemo } from './commands/demo.ts';
import { addDoctor } from './commands/doctor/doctor.ts';
import { addLogin } from './commands/login/login.ts';
import { addLogout } from './commands/logout.ts';
import { addServe } from './commands/serve.ts';
import { addService } from './commands/service/service.ts';
import { addSetup } from './commands/setup.ts';
import { addStatus } from './commands/status.ts';
import { addTools } from './commands/tools.ts';
import { complain, guarded } from './support/report-failures.ts';

/** The command that the arguments name. */
export function run(): Promise<void> {
  return guarded(parseAndRun);
}

/** @throws what the command threw; wrong usage is said and sets the exit code 2. */
async function parseAndRun(): Promise<void> {
  const program = new Command('heddle')
    .description('MCP server for annotation queues, model inference and evaluations. Without a command: heddle serve.')
    .version(version)
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: false });
  for (const add of [
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
  ]) {
    add(program);
  }

  const [first] = process.argv.slice(2);
  // A hidden command is for heddle itself.
  const known = program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name());
  const all = program.commands.map((command) => command.name());
  try {
    if (first !== undefined && !first.startsWith('-') && ![...all, 'help'].includes(first)) {
      throw new CommanderError(2, 'unknown', `unknown command '${first}'; known are ${known.join(', ')}`);
    }
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    // Commander has said its own messages already.
    if (!error.code.startsWith('commander.')) complain(error.message);
    process.exitCode = 2;
  }
}
