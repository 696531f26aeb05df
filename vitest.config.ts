import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/services/services.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores are enough for three: many tests wait for leases, outages and servers.
    maxWorkers: 3,
    // The suite starts the command a thousand times; compiled once, each start costs an eighth less.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'millrace-test-compiled') },
    reporters: ['default', './test/support/closing-line.ts'],
  },
});
