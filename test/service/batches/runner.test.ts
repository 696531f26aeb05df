import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { MAX_ROUNDS } from '../../../src/service/batches/limits.ts';
import { newOwner, ownerIsGone } from '../../../src/service/batches/owner.ts';
import { Pacer } from '../../../src/service/batches/pacer.ts';
import { BatchRunner } from '../../../src/service/batches/runner.ts';
import type { BatchState } from '../../../src/service/batches/states.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] }));
afterEach(() => void vi.useRealTimers());

/** Jobs by id, `KEY1` and so on, each with its state; a step ends when it is told to. */
async function make(jobs: Record<string, BatchState>) {
  const store = openStore(await makeStore());
  const begun: string[] = [];
  const ends = new Map<string, (waitMs: number) => void>();
  const errors: unknown[] = [];
  const state = { nowMs: 0, broken: false };
  const rows = {
    active: () => {
      if (state.broken) throw new Error('disk I/O error');
      return Object.entries(jobs).map(([id, of]) => ({ id, keyId: id.replaceAll(/\d/g, ''), state: of }));
    },
    lease: () => true,
    giveUpLease: () => undefined,
  } as unknown as BatchRows;
  const runner = new BatchRunner({
    store, rows, owner: 'me', clock: () => state.nowMs, tidy: async () => undefined, tidyMs: Infinity, onError: (error) => errors.push(error),
    step: (id) => {
      begun.push(id);
      return new Promise((resolve) => ends.set(id, resolve));
    },
  });
  cleanUp(() => {
    runner.stop();
    store.close();
  });
  const look = async (): Promise<void> => {
    await vi.advanceTimersByTimeAsync(500);
  };
  return { runner, begun, ends, errors, state, look, end: async (id: string, waitMs = 0) => {
    ends.get(id)?.(waitMs);
    await look();
  } };
}

it('lets keys take turns, with one job each, the most urgent first', async () => {
  const { runner, begun, look, end } = await make({ a1: 'queued', a2: 'in_progress', a3: 'cancelling', b1: 'in_progress', c1: 'validating' });
  runner.start();
  await look();
  expect(begun).toEqual(['a3', 'b1', 'c1']);
  await end('b1');
  await end('a3');
  expect(begun).toEqual(['a3', 'b1', 'c1', 'b1', 'a3']);
});

it('has so many under way and no more, and whoever waited longest comes next', async () => {
  const keys = Array.from({ length: MAX_ROUNDS + 2 }, (_, n) => String.fromCodePoint(97 + n));
  const { runner, begun, look, end } = await make(Object.fromEntries(keys.map((key) => [`${key}1`, 'in_progress' as const])));
  runner.start();
  await look();
  expect(begun).toHaveLength(MAX_ROUNDS);
  await end('a1');
  await end('b1');
  expect(begun.slice(MAX_ROUNDS)).toEqual(keys.slice(MAX_ROUNDS).map((key) => `${key}1`));
});

it('comes back to a job that waits when it said, or when it is woken', async () => {
  const { runner, begun, state, look, end } = await make({ a1: 'paused' });
  runner.start();
  await look();
  await end('a1', 1_000);
  await look();
  expect(begun).toHaveLength(1);
  state.nowMs = 1_000;
  await look();
  expect(begun).toHaveLength(2);
  await end('a1', 1_000);
  runner.wake('a1');
  await look();
  expect(begun).toHaveLength(3);
});

it('outlives a store that cannot be read, and says so once', async () => {
  const { runner, begun, errors, state, look } = await make({ a1: 'in_progress' });
  state.broken = true;
  runner.start();
  await look();
  await look();
  expect([begun, errors]).toEqual([[], [expect.objectContaining({ message: 'disk I/O error' })]]);
  state.broken = false;
  await look();
  expect(begun).toEqual(['a1']);
});

it('a process of this machine that has ended is known to be gone, this one and those of others are not', () => {
  const mine = newOwner();
  expect([ownerIsGone(mine), ownerIsGone(mine.replace(`:${process.pid}:`, ':2147483646:')), ownerIsGone('elsewhere:2147483646:x'), ownerIsGone('nonsense')]).toEqual([false, true, false, false]);
});

it('gives the thread in slices, shorter ones and with rests while requests come, to one after the other', async () => {
  vi.useRealTimers();
  const state = { nowMs: 0, arrived: 0, each: 0 };
  const pacer = new Pacer(() => (state.arrived += state.each), () => state.nowMs);
  const order: string[] = [];
  const work = (name: string, steps: number): Promise<void> => {
    let left = steps;
    return pacer.work(() => {
      order.push(name);
      state.nowMs += 1;
      return --left <= 0;
    });
  };
  await Promise.all([work('a', 12), work('b', 3)]);
  expect(order.splice(0).join('')).toBe('aaaaaaaabbbaaaa');
  state.each = 1;
  await Promise.all([work('c', 3), work('d', 3)]);
  expect(order.join('')).toBe('cdcdcd');
});
