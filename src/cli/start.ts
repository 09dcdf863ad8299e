/**
 * Runs the server on stdio where the arguments ask for it and need no parser, as those do that clients are set up with;
 * else the command that they name. The server is a bundle of its own (scripts/build.mjs), so that neither the parser nor
 * the other commands are read.
 */
export async function start(
  server: () => typeof import('./run-serve.ts') | Promise<typeof import('./run-serve.ts')>,
  program: () => Promise<typeof import('./run-program.ts')>,
): Promise<void> {
  const [command = 'serve', ...args] = process.argv.slice(2);
  try {
    const served = command === 'serve' && !args.includes('--http') && (await server()).serve(args);
    await (served || (await program()).run());
  } catch (error) {
    // Both tell their failures themselves: a part of the installation is missing or damaged.
    process.stderr.write(`heddle: cannot be loaded, install it anew: ${(error as Error).stack}\n`);
    process.exitCode = 1;
  }
}
