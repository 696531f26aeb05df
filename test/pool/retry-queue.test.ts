import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isPending, stopTime } from '../limiter/virtual.ts';
import { HTTP_500, OK, advance, readAll, testBed } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;

describe('the retry queue', () => {
  it('makes retries wait for the retry budget, and every lookup still succeeds', async () => {
    const bed = testBed((id, attempt) => (attempt <= 4 && (id * 7 + attempt * 3) % 4 < 2 ? HTTP_500 : OK), { concurrency: 64 });
    void readAll(bed, 3_000);
    for (let minutes = 0; minutes < 30 && bed.settled.size < 3_000; minutes++) await advance(MINUTE);
    expect([...bed.settled.values()].filter((settled) => settled.kind === 'ok')).toHaveLength(3_000);
    expect(bed.events).not.toContain('open');
    const seen = new Set<number>();
    let retries = 0;
    for (const { id, at } of bed.sent) {
      if (seen.has(id)) expect(++retries).toBeLessThanOrEqual(100 + 0.2 * seen.size + at / 100 + 1);
      seen.add(id);
    }
    expect(retries).toBeGreaterThan(1_000);
  });

  it('leaves no timer when the pool is drained', async () => {
    const bed = testBed((id, attempt) => (attempt === 1 && id % 2 === 0 ? HTTP_500 : OK), { concurrency: 16 });
    for (let id = 0; id < 1_000; id++) bed.submit(id);
    await advance(2_000);
    expect(bed.settled.size).toBeLessThan(1_000);
    const drained = bed.pool.drain();
    await advance(50);
    expect(await isPending(drained)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
