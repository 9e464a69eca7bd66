import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['headgate-source'] },
  ssr: { resolve: { conditions: ['headgate-source'] } },
  test: {
    include: [
      'packages/*/test/**/*.test.ts',
      'services/*/test/**/*.test.ts',
      'test/{drills,replays,chaos}/**/*.test.ts',
    ],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
