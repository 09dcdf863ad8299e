import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

/** The tests of the service on PostgreSQL instead of SQLite, and those that only PostgreSQL needs. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../../..', import.meta.url)),
    include: [
      'test/service/**/*.test.ts',
      'test/hostile/{numbers,sizes,sql}.test.ts',
      'test/faults/evaluation-kills.test.ts',
      'test/external/postgresql/**/*.test.ts',
      'test/external/weave-sdk/**/*.test.ts',
    ],
    exclude: [...configDefaults.exclude, 'test/service/storage/sqlite-*.test.ts'],
    globalSetup: ['test/support/build-once.ts', 'test/support/postgres-setup.ts'],
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
