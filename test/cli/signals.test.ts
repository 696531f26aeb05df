import { expect, test } from 'vitest';
import { withStopSignals } from '../../src/cli/signals.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const listeners = (): number => SIGNALS.reduce((sum, name) => sum + process.listenerCount(name), 0);

test.each(SIGNALS)('the first %s drains, the second aborts, and the handlers are removed afterwards', async (name) => {
  const before = listeners();
  await withStopSignals(async ({ drain, abort }) => {
    process.emit(name);
    expect([drain.aborted, abort.aborted]).toEqual([true, false]);
    process.emit(name);
    expect(abort.aborted).toBe(true);
  });
  expect(listeners()).toBe(before);
});

test('a failure passes through the signal handling, and the handlers are removed', async () => {
  const before = listeners();
  await expect(withStopSignals(() => Promise.reject(new Error('of the work')))).rejects.toThrow('of the work');
  expect(listeners()).toBe(before);
});
