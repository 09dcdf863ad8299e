import { configDefaults, defineConfig, type Plugin, type TestProjectInlineConfiguration } from 'vitest/config';
import type { InlineConfig } from 'vitest/node';
import { buildPage, pagePath } from './scripts/pages-plugin.mjs';

/** Loads the pages of Views as the build does. */
const pages: Plugin = {
  name: 'pages',
  enforce: 'pre',
  async load(id) {
    return pagePath.test(id) ? `export default ${JSON.stringify((await buildPage(id)).text)}` : undefined;
  },
};

const everyRun = ['test/support/build-once.ts', 'test/support/tally.ts'];

/** Returns the lane that `npm run test:NAME` runs, by default the tests in test/lanes/NAME. */
function lane(name: string, test: InlineConfig = {}): TestProjectInlineConfiguration {
  const include = [`test/lanes/${name}/**/*.test.ts`];
  return { extends: true, test: { name, include, ...test } };
}

/** Returns a lane whose tests keep their data in PostgreSQL. */
function onPostgresql(name: string, test: InlineConfig): TestProjectInlineConfiguration {
  return lane(name, { globalSetup: [...everyRun, 'test/support/postgres-setup.ts'], ...test });
}

export default defineConfig({
  plugins: [pages],
  test: {
    globalSetup: everyRun,
    setupFiles: 'test/support/close-idle-connections.ts',
    maxWorkers: 2,
    // No test may fail because the machine is busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'main',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/{external,lanes}/**'],
          // Files share what they import, and so none may change it.
          isolate: false,
        },
      },
      lane('agent-benchmark'),
      lane('connections'),
      lane('documents', { maxConcurrency: 2, testTimeout: 300_000 }),
      lane('fuzz'),
      lane('hostile'),
      lane('kills'),
      lane('node-versions'),
      lane('package'),
      lane('statistics'),
      lane('storage'),
      lane('terminal'),
      lane('programs', {
        include: ['test/external/**/*.test.ts'],
        exclude: [...configDefaults.exclude, 'test/external/postgresql/**'],
      }),
      // Its files share what they import, but those of npm weave, which keeps sending after its test.
      onPostgresql('postgresql', {
        isolate: false,
        include: [
          'test/external/postgresql/**/*.test.ts',
          'test/service/**/*.test.ts',
          'test/lanes/storage/**/*.test.ts',
          'test/cli/service-copy.test.ts',
          'test/tools/calibrate-scorer.test.ts',
          'test/lanes/hostile/service-requests.test.ts',
          'test/hostile/{numbers,sql}.test.ts',
          'test/lanes/kills/{claim-kills,evaluation-kills,kill}.test.ts',
        ],
        exclude: [
          ...configDefaults.exclude,
          'test/**/sqlite-*.test.ts',
          // Nothing of these depends on the storage.
          'test/service/http/{openapi,spooled-file}.test.ts',
          'test/service/inference/**',
          'test/service/storage/stable-json.test.ts',
        ],
      }),
      onPostgresql('postgresql-recording', {
        include: ['test/external/weave-sdk/**/*.test.ts'],
        exclude: [...configDefaults.exclude, 'test/external/weave-sdk/docs.test.ts'],
      }),
    ],
  },
});
