import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Suites with parts that a fresh machine lacks have a configuration of their own; .ci/run installs for them.
    exclude: [...configDefaults.exclude, 'test/external/**', 'test/long/**'],
    globalSetup: ['test/support/build-once.ts', 'test/support/tally.ts'],
    // Most tests start real processes; two cores are the size of machine this has to pass on.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // The usual second is too short where every process of the machine wants a core.
    expect: { poll: { timeout: 10_000 } },
  },
});
