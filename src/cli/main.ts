#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { version } from '../config/version.ts';
import { HeddleError } from '../contract/errors.ts';
import { protectEnvironment, redact } from '../credentials/redact.ts';
import { addAccessKeychain } from './access-keychain.ts';
import { addCall } from './call.ts';
import { addDemo } from './demo.ts';
import { addDoctor } from './doctor.ts';
import { addLogin } from './login.ts';
import { addLogout } from './logout.ts';
import { addServe } from './serve.ts';
import { addService } from './service.ts';
import { addSetup } from './setup.ts';
import { addStatus } from './status.ts';
import { addTools } from './tools.ts';
import { onUncaught } from './uncaught.ts';

// A reader that has seen enough, like head, closes the pipe: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

// What crashes past every boundary may quote a service, and goes through the same gate as everything else.
protectEnvironment(process.env);
onUncaught((error) => process.exit(reportFailure(error)));

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
const known = program.commands.map((command) => command.name());
try {
  if (first !== undefined && !first.startsWith('-') && ![...known, 'help'].includes(first)) {
    throw new CommanderError(2, 'unknown', `unknown command '${first}'; known are ${known.join(', ')}`);
  }
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportFailure(error);
}

/** Says on stderr what went wrong; returns the exit code: 2 for wrong usage or configuration, 1 for a failure. */
function reportFailure(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    // Commander has said its own messages already.
    if (!error.code.startsWith('commander.')) complain(error.message);
    return 2;
  }
  if (error instanceof HeddleError) {
    complain(`${error.message}\n${error.hint}`);
    return error.code === 'not_configured' ? 2 : 1;
  }
  complain(`unexpected failure: ${error instanceof Error ? error.stack : error}`);
  return 1;
}

function complain(text: string): void {
  process.stderr.write(redact(`heddle: ${text}\n`));
}
