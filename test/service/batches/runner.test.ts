import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { BatchRows } from '../../../src/service/batches/batch-rows.ts';
import { MAX_CHUNKS } from '../../../src/service/batches/batch-limits.ts';
import { newOwner, ownerIsGone } from '../../../src/service/batches/owner.ts';
import { Scheduler } from '../../../src/service/batches/scheduler.ts';
import { BatchRunner } from '../../../src/service/batches/runner.ts';
import type { BatchState } from '../../../src/service/batches/states.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] }));
afterEach(() => void vi.useRealTimers());

/** A runner over jobs with ids such as `a1`, whose letter is the key. A step ends when the test calls `end`. */
async function make(jobs: Record<string, BatchState>) {
  const store = openStore(await makeStore());
  const started: string[] = [];
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
    store,
    rows,
    owner: 'me',
    clock: () => state.nowMs,
    janitor: async () => undefined,
    janitorMs: Infinity,
    onError: (error) => errors.push(error),
    step: (id) => {
      started.push(id);
      return new Promise((resolve) => ends.set(id, resolve));
    },
  });
  cleanUp(() => {
    runner.stop();
    store.close();
  });
  const poll = async (): Promise<void> => {
    await vi.advanceTimersByTimeAsync(500);
  };
  return {
    runner,
    started,
    ends,
    errors,
    state,
    poll,
    end: async (id: string, waitMs = 0) => {
      ends.get(id)?.(waitMs);
      await poll();
    },
  };
}

it('keys take turns, with one job at a time each, the most urgent first', async () => {
  const { runner, started, poll, end } = await make({
    a1: 'queued',
    a2: 'in_progress',
    a3: 'cancelling',
    b1: 'in_progress',
    c1: 'validating',
  });
  runner.start();
  await poll();
  expect(started).toEqual(['a3', 'b1', 'c1']);
  await end('b1');
  await end('a3');
  expect(started).toEqual(['a3', 'b1', 'c1', 'b1', 'a3']);
});

it('at most MAX_CHUNKS jobs run at once, and the key that waited longest is next', async () => {
  const keys = Array.from({ length: MAX_CHUNKS + 2 }, (_, n) => String.fromCodePoint(97 + n));
  const { runner, started, poll, end } = await make(Object.fromEntries(keys.map((key) => [`${key}1`, 'in_progress' as const])));
  runner.start();
  await poll();
  expect(started).toHaveLength(MAX_CHUNKS);
  await end('a1');
  await end('b1');
  expect(started.slice(MAX_CHUNKS)).toEqual(keys.slice(MAX_CHUNKS).map((key) => `${key}1`));
});

it('a waiting job runs again after the time that it asked for, or when it is woken', async () => {
  const { runner, started, state, poll, end } = await make({ a1: 'paused' });
  runner.start();
  await poll();
  await end('a1', 1_000);
  await poll();
  expect(started).toHaveLength(1);
  state.nowMs = 1_000;
  await poll();
  expect(started).toHaveLength(2);
  await end('a1', 1_000);
  runner.wake('a1');
  await poll();
  expect(started).toHaveLength(3);
});

it('the runner survives a store that cannot be read, and reports it once', async () => {
  const { runner, started, errors, state, poll } = await make({ a1: 'in_progress' });
  state.broken = true;
  runner.start();
  await poll();
  await poll();
  expect([started, errors]).toEqual([[], [expect.objectContaining({ message: 'disk I/O error' })]]);
  state.broken = false;
  await poll();
  expect(started).toEqual(['a1']);
});

it('only an ended process of this machine counts as gone', () => {
  const own = newOwner();
  expect([
    ownerIsGone(own),
    ownerIsGone(own.replace(`:${process.pid}:`, ':2147483646:')),
    ownerIsGone('elsewhere:2147483646:x'),
    ownerIsGone('nonsense'),
  ]).toEqual([false, true, false, false]);
});

it('the scheduler runs jobs in slices, one after the other, and in shorter slices while requests arrive', async () => {
  vi.useRealTimers();
  const state = { nowMs: 0, arrived: 0, each: 0 };
  const scheduler = new Scheduler(
    () => (state.arrived += state.each),
    () => state.nowMs,
  );
  const order: string[] = [];
  const work = (name: string, steps: number): Promise<void> => {
    let left = steps;
    return scheduler.run(() => {
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
