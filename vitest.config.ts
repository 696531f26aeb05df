import { globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { needsOwnWorker } from './test/support/own-worker.ts';

const files = globSync('test/**/*.test.ts', { cwd: import.meta.dirname }).map((file) => file.replaceAll(sep, '/')).toSorted();
const alone = new Set(files.filter((file) => needsOwnWorker(join(import.meta.dirname, file))));

/** Files that are run alike. The set-up below is the whole run's, so that both kinds have the same servers. */
function project(name: string, isolate: boolean, include: readonly string[]): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      isolate,
      setupFiles: ['test/support/clean-up-hook.ts', ...(isolate ? [] : ['test/support/left-behind.ts'])],
      include: [...include],
      // Loaded machines are no reason to fail: these only end what hangs. Vitest's own patience with `expect.poll` is a second.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 120_000 } },
      // The suite starts the command a thousand times; compiled once, each start costs an eighth less.
      env: { NODE_COMPILE_CACHE: join(tmpdir(), 'millrace-test-compiled') },
    },
  };
}

export default defineConfig({
  test: {
    globalSetup: ['test/services/bundle.ts', 'test/services/services.ts'],
    // Two cores are enough for five: half of the time of most files is waiting for leases, outages and servers.
    maxWorkers: 5,
    reporters: ['default', './test/support/closing-line.ts'],
    // In this order: the longest are those with a worker of their own.
    projects: [project('alone', true, [...alone]), project('together', false, files.filter((file) => !alone.has(file)))],
  },
});
