import { describe, expect, it } from 'vitest';
import type { PlanWindow } from '../../../src/client/quota/quota-reading.ts';
import { ResetUnit } from '../../../src/limiter/inference/reset-unit.ts';
import { planOf } from '../virtual.ts';

const says = (reset: number, remaining = 5, limit = 100): PlanWindow => ({
  limit,
  remaining,
  reset: { form: 'delta', value: reset, unit: null },
});

describe('ResetUnit', () => {
  it.each([
    ['seconds', [60, 57, 54], 3_000],
    ['milliseconds', [60_000, 57_000, 54_000], 3_000],
    ['milliseconds', [9_000, 6_004, 3_001], 3_000],
    // Nothing falls: not confirmed.
    [null, [60, 60, 60], 3_000],
    // Too close to each other to tell.
    [null, [60, 59, 58], 900],
  ] as const)('%s, for %j', (unit, values, apartMs) => {
    const learns = new ResetUnit();
    for (const [i, value] of values.entries()) learns.read(says(value), i * apartMs);
    expect(learns.pinned).toBe(unit);
  });

  it.each([
    ['epoch seconds', ['2100000060', '2100000061'], 'in epoch seconds'],
    ['epoch milliseconds', ['2100000060000', '2100000060001'], 'in epoch milliseconds'],
    ['dates', ['Sat, 15 Jul 2036 12:00:00 GMT', 'Sat, 15 Jul 2036 12:00:01 GMT'], 'as a date'],
    ['durations', ['0m13.400s', '0m12.100s'], 'as a duration'],
    ['one answer alone', ['2100000060'], null],
    ['one and then another', ['2100000060', '2100000060001'], null],
    ['nonsense', ['soon', 'soon'], null],
  ] as const)('says what resets are: %s', (_name, values, verdict) => {
    const learns = new ResetUnit();
    for (const value of values) learns.read(planOf({ 'x-ratelimit-reset': value }), 0);
    expect(learns.description).toBe(verdict);
  });

  it('large numbers alone do not settle the unit: an hour in seconds, stated often', () => {
    const learns = new ResetUnit();
    for (let i = 0; i < 30; i++) learns.read(says(3_540), i * 5);
    expect(learns.pinned).toBeNull();
    for (let i = 1; i <= 4; i++) learns.read(says(3_540 - 3 * i), i * 3_000);
    expect(learns.pinned).toBe('seconds');
  });

  it('stays with what it has pinned, also for small numbers near the end of a window', () => {
    const learns = new ResetUnit();
    for (const [i, value] of [9_000, 6_000, 3_000].entries()) learns.read(says(value), i * 3_000);
    expect(learns.read(says(80), 9_000)).toBe('milliseconds');
  });

  it('starts over when a window does', () => {
    const learns = new ResetUnit();
    for (const [value, atMs] of [
      [5, 0],
      [2, 3_000],
      [60, 6_000],
      [57, 9_000],
    ] as const)
      learns.read(says(value), atMs);
    expect(learns.pinned).toBe('seconds');
  });

  it('does not take the milliseconds between the beginnings of windows for the seconds between them', () => {
    const learns = new ResetUnit();
    for (const [value, atMs] of [
      [59_900, 0],
      [59_842, 60_000],
      [59_781, 120_000],
      [59_720, 180_000],
    ] as const)
      learns.read(says(value), atMs);
    expect(learns.pinned).not.toBe('seconds');
  });

  it('knows the interval of a service that holds one permit, and no other small number', () => {
    expect(new ResetUnit().read(says(120, 0, 500), 0)).toBe('milliseconds');
    expect(new ResetUnit().read(says(60, 0, 500), 0)).toBeNull();
    const seenMore = new ResetUnit();
    seenMore.read(says(60, 3, 1_000), 0);
    expect(seenMore.read(says(60, 0, 1_000), 10)).toBeNull();
  });
});
