import type { Command } from 'commander';
import { addConfigFlags, configOf, resultFlags, serviceFlags } from './flags.ts';
import { openSession } from './session.ts';

/** `heddle serve`: the MCP server on stdin and stdout. */
export function addServe(program: Command): void {
  const serve = program.command('serve', { isDefault: true }).description('serve MCP on stdin and stdout');
  addConfigFlags(serve, [...serviceFlags, ...resultFlags]).action(async () => {
    const session = openSession(configOf(serve));
    const stop = new AbortController();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
    const [{ serveStdio }, { createServer }] = await Promise.all([
      import('../mcp/serve-stdio.ts'),
      import('../mcp/server.ts'),
    ]);
    await serveStdio(() => createServer(session.settings), stop.signal, session.log);
    await session.close();
    // A request that is still under way at the service must not keep the process alive.
    process.exit(0);
  });
}
