import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/services/services.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores are enough for three: many tests wait for leases, outages and servers.
    maxWorkers: 3,
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
