import { defineConfig } from 'vitest/config';

const depth = process.env['HEADGATE_DEPTH'] ?? 'normal';

/** Between packages tests run the sources, not what was last built. */
const conditions = ['headgate-source'];

const everyDay = [
  'packages/*/test/**/*.test.ts',
  'services/*/test/**/*.test.ts',
  'test/{bench,counts,plans,documents,drills,failure-map,replays,chaos,e2e,observability,setup}/**/*.test.ts',
];

/**
 * Too long for every day: random load on the store, for minutes. What it shows by chance is shown by forced order in the
 * store's everyday tests. Clusters are everyday tests; `npm test -- --deep` runs them with larger loads.
 */
const deepOnly = ['packages/store/test/stress.test.ts'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: depth === 'soak' ? ['test/soak/**/*.test.ts'] : everyDay,
    exclude: depth === 'normal' ? deepOnly : [],
    globalSetup: ['./test/global-setup.ts'],
    setupFiles: ['./test/each-file.ts'],
    pool: 'forks',
    // Loading the modules anew for each file took as long as a third of the tests.
    isolate: false,
    // As many as the cores that CI has: a third only made the others miss their time limits.
    maxWorkers: 2,
    // For a test that hangs. Nothing is measured by it: a busy machine makes a test of 5 s one of 30 s.
    testTimeout: depth === 'normal' ? 90_000 : 15 * 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});
