import { defineConfig } from 'vitest/config';

const depth = process.env['HEADGATE_DEPTH'] ?? 'normal';

/** Between packages tests run the sources, not what was last built. */
const conditions = ['headgate-source'];

const everyDay = [
  'packages/*/test/**/*.test.ts',
  'services/*/test/**/*.test.ts',
  'test/{drills,replays,chaos,e2e,setup}/**/*.test.ts',
];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: depth === 'soak' ? ['test/soak/**/*.test.ts'] : everyDay,
    globalSetup: ['./test/global-setup.ts'],
    pool: 'forks',
    // Twice the cores: most tests wait for a lease, a signal or a commit, not for the processor.
    maxWorkers: 4,
    testTimeout: depth === 'normal' ? 30_000 : 15 * 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});
