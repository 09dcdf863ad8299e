#!/usr/bin/env node
try {
  const { run } = await import('./run.ts');
  await run();
} catch (error) {
  // `run` reports its own failures, so only the imports can fail here. They need a home folder and the files of heddle.
  const { message, syscall } = error as NodeJS.ErrnoException;
  const isHomeMissing = syscall === 'uv_os_homedir';
  process.stderr.write(
    isHomeMissing
      ? 'heddle: this user has no home folder.\nSet HOME to a folder of the user who runs heddle.\n'
      : `heddle: a file of the installation is missing or damaged; install heddle again. ${message}\n`,
  );
  process.exitCode = isHomeMissing ? 2 : 1;
}
