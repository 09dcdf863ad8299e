import { defineConfig } from 'vitest/config';

/** The suites with real outside parts; each is a folder and is run by name: `npm run test:suite -- test/external/NAME`. */
export default defineConfig({
  test: {
    include: ['test/{external,long}/**/*.test.ts'],
    globalSetup: ['test/support/build-once.ts', 'test/support/tally.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
