import { defineConfig } from 'vitest/config';

/** A run whose outcome is known, for the test of how outcomes are counted. */
export default defineConfig({ test: { include: ['*.counted.ts'], maxWorkers: 1 } });
