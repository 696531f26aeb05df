import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withGrace } from '../../src/util/stop-signals.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it.each([true, false])('work is told to stop when its grace after a signal is over, and not before (signal first: %s)', async (isFirst) => {
  const drain = new AbortController();
  const ended = Promise.withResolvers<void>();
  if (isFirst) drain.abort();
  let stop: AbortSignal | undefined;
  const work = withGrace(drain.signal, 3_000, (signal) => {
    stop = signal;
    return ended.promise;
  });
  vi.advanceTimersByTime(isFirst ? 0 : 60_000);
  drain.abort();
  vi.advanceTimersByTime(2_999);
  expect(stop?.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(stop?.aborted).toBe(true);
  ended.resolve();
  await work;
});

it('work that is done leaves no listener and no timer behind', async () => {
  const drain = new AbortController();
  await withGrace(drain.signal, 3_000, async () => undefined);
  await expect(withGrace(drain.signal, 3_000, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(getEventListeners(drain.signal, 'abort')).toEqual([]);
  drain.abort();
  await withGrace(drain.signal, 3_000, async () => undefined);
  expect(vi.getTimerCount()).toBe(0);
});
