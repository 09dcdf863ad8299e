import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // vitest.suites.config.ts runs these; .ci/run installs what they need.
    exclude: [...configDefaults.exclude, 'test/external/**', 'test/long/**'],
    globalSetup: ['test/support/build-once.ts', 'test/support/tally.ts'],
    // Most tests start processes, and they must pass on a machine with two cores.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // The default of a second is too short on a busy machine.
    expect: { poll: { timeout: 10_000 } },
  },
});
