/** Mocks of the disk and of sleeps, for the job lock. A test may delay a disk call or make it fail. */
import type * as files from 'node:fs/promises';

/** A hook between the lock and the disk. */
export const disk = { before: async (_call: string, _path: string): Promise<void> => undefined };
/** The clock. It advances only by the lock's sleeps and by what a test adds. */
export const clock = { ms: 0, onSleep: (): unknown => undefined };

/** `node:fs/promises` with the hook. */
export function mockFiles(real: typeof files): typeof files {
  const guarded = Object.fromEntries(
    (['open', 'link', 'rename', 'rm', 'readFile', 'stat'] as const).map((name) => [
      name,
      async (...args: readonly [string, ...unknown[]]) => {
        // A link and a rename are distinguished by their target.
        await disk.before(name, name === 'link' ? String(args[1]) : args[0]);
        return (real[name] as (...args: readonly unknown[]) => unknown)(...args);
      },
    ]),
  );
  return { ...real, ...guarded };
}

/** `node:timers/promises` with sleeps that only advance the clock. */
export const mockTimers = {
  setTimeout: async (ms: number): Promise<void> => {
    clock.ms += ms;
    await clock.onSleep();
  },
};
