import { globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { needsOwnWorker } from './test/support/own-worker.ts';
import { SEED } from './test/support/seed.ts';

const files = globSync('test/**/*.test.ts', { cwd: import.meta.dirname })
  .map((file) => file.replaceAll(sep, '/'))
  .toSorted();
const alone = new Set(files.filter((file) => needsOwnWorker(join(import.meta.dirname, file))));

/** Workers and the commands that tests start inherit both: a run has one seed, even a random one, and a machine compiles a module once. */
process.env['SEED'] = String(SEED);
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'millrace-test-compiled');

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
      // The closing line lists tests that passed only at their second attempt: each is a defect of the test.
      retry: process.env['CI'] === 'true' ? 1 : 0,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 120_000 } },
      // Node loads the sources and takes their types off. Vite would rewrite each import into a property read, which costs property tests a third.
      experimental: { viteModuleRunner: false },
      // A small heap is collected in full whenever 64 MiB of buffers were made, which was a tenth of the time of many files.
      execArgv: ['--initial-heap-size=256'],
    },
  };
}

export default defineConfig({
  test: {
    globalSetup: ['test/services/folder-in-memory.ts', 'test/services/bundle.ts', 'test/services/services.ts'],
    // Two cores are enough for seven: most of the time of a file is waiting for leases, outages and servers.
    maxWorkers: 7,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './test/support/closing-line.ts'],
    projects: [
      project('alone', true, [...alone]),
      project(
        'together',
        false,
        files.filter((file) => !alone.has(file)),
      ),
    ],
  },
});
