import { expect, it } from 'vitest';
import { CoalescingCache } from '../../../src/verification/dns/coalescing-cache.ts';

it('a coalescing cache honours each expiry, evicts the oldest entry, and fails all waiting callers when a load fails', async () => {
  const time = { ms: 0 };
  const cache = new CoalescingCache<number>(() => time.ms, 2);
  let loads = 0;
  const load = (forMs: number) => async (): Promise<{ value: number; forMs: number }> => ({ value: ++loads, forMs });
  expect(await Promise.all([cache.get('a', load(10)), cache.get('a', load(10))])).toEqual([1, 1]);
  time.ms = 9;
  expect(await cache.get('a', load(10))).toBe(1);
  time.ms = 10;
  expect(await cache.get('a', load(0))).toBe(2);
  expect(await cache.get('a', load(10))).toBe(3);
  await cache.get('b', load(10));
  await cache.get('c', load(10));
  expect([cache.size, cache.peek('a')]).toEqual([2, undefined]);
  const broken = (): Promise<never> => Promise.reject(new Error('broken'));
  expect((await Promise.allSettled([cache.get('d', broken), cache.get('d', broken)])).map(({ status }) => status)).toEqual([
    'rejected',
    'rejected',
  ]);
  expect(await cache.get('d', load(10))).toBe(6);
});
