import { defineConfig } from 'vitest/config';

const depth = process.env['HEADGATE_DEPTH'] ?? 'normal';

/** Between packages tests run the sources, not what was last built. */
const conditions = ['headgate-source'];

const everyDay = [
  'packages/*/test/**/*.test.ts',
  'services/*/test/**/*.test.ts',
  'test/{drills,replays,chaos,e2e,setup,plans,counts,bench}/**/*.test.ts',
];

/**
 * Too long for every day: whole clusters of processes that are killed, frozen and cut off, random load, mutants. What
 * they show of one component by one forced order is in that component's everyday tests. `npm test -- --deep` runs all.
 */
const deepOnly = [
  'packages/store/test/stress.test.ts',
  'services/worker/test/crash.test.ts',
  'test/setup/setup.test.ts',
  'test/{chaos,drills}/**',
  'test/replays/{cyrus-1450,graphile-636,hatchet-1022,trigger-dev-834,windmill-11246}-*.test.ts',
];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: depth === 'soak' ? ['test/soak/**/*.test.ts'] : everyDay,
    exclude: depth === 'normal' ? deepOnly : [],
    globalSetup: ['./test/global-setup.ts'],
    pool: 'forks',
    // More than the cores: most tests wait for a lease, a signal or a commit, not for the processor.
    maxWorkers: 3,
    testTimeout: depth === 'normal' ? 30_000 : 15 * 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});
