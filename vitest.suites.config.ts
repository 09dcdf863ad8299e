import { configDefaults, defineConfig } from 'vitest/config';

/** Suites that need outside programs, and long ones. To run one: `npm run test:suite -- test/external/NAME`. */
export default defineConfig({
  test: {
    include: ['test/{external,long}/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'test/external/postgresql/**'],
    globalSetup: ['test/support/build-once.ts', 'test/support/tally.ts'],
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
