import { text } from 'node:stream/consumers';
import { type Command, CommanderError } from 'commander';
import { openRuntime } from '../../runtime/runtime.ts';
import { offerFlags, resultFlags, serviceFlags } from '../support/flag-lists.ts';
import { addSettingFlags, settingsOf } from '../support/flags.ts';
import { runtimeOptions } from '../support/secrets.ts';

/** `heddle call TOOL [JSON]`: one tool call from the shell. */
export function addCall(program: Command): void {
  const call = program
    .command('call')
    .description('call one tool; the structured result goes to stdout as JSON')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments]', 'arguments as a JSON object, or - to read them from stdin', '{}');
  addSettingFlags(call, [...serviceFlags, ...resultFlags, ...offerFlags]).action(
    async (name: string, given: string) => {
      const resolved = settingsOf(call);
      const runtime = openRuntime(resolved, runtimeOptions(resolved));
      const { serverOptions } = runtime;
      const tool = serverOptions.tools.find((candidate) => candidate.name === name);
      if (!tool) {
        const known = serverOptions.tools.map((candidate) => candidate.name).join(', ');
        throw new CommanderError(2, 'unknown', `unknown tool '${name}'; known are ${known}`);
      }
      const args = parseJson(given === '-' ? await text(process.stdin) : given);
      const { callTool } = await import('../../mcp/call-tool.ts');
      const cancel = new AbortController();
      process.once('SIGINT', () => cancel.abort());
      const result = await callTool(
        tool,
        args,
        {
          service: await serverOptions.service(),
          project: serverOptions.project,
          maxResultChars: serverOptions.maxResultChars,
          signal: cancel.signal,
          ask: () => 'cannot',
          progress: (_done, message) => {
            if (process.stderr.isTTY) process.stderr.write(`\r${message}\u001b[K`);
          },
        },
        serverOptions,
      );
      if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
      const [block] = result.content;
      // An error's text ends with its one line of JSON.
      const json = result.isError && block?.type === 'text' ? block.text.split('\n').at(-1) : undefined;
      process.stdout.write(`${json ?? JSON.stringify(result.structuredContent, null, 2)}\n`);
      await runtime.close();
      process.exitCode = result.isError ? 1 : 0;
    },
  );
}

function parseJson(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch (error) {
    throw new CommanderError(2, 'unknown', `the arguments are not JSON: ${(error as Error).message}`);
  }
}
