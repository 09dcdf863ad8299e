import { defineConfig } from 'vitest/config';

/** The suites with real outside parts; each is a folder and is run by name: `npm run test:suite -- test/suites/NAME`. */
export default defineConfig({
  test: {
    include: ['test/suites/**/*.test.ts'],
    globalSetup: ['test/build-once.ts', 'test/faults/tally.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
