import { describe, expect, it } from 'vitest';
import { MIN_PART, partLeftBy } from '../../../../src/limiter/rules/shared/messages.ts';
import { IdleShare } from '../../../../src/limiter/rules/shared/idle-share.ts';

const RPM = 1_000;
const MINUTES_3 = 180_000;

/** An answer every so often. Returns when it is certain that nobody uses the part of the missing; null: never. */
function certainAt(part: number, left: (nowMs: number) => number, spent = RPM * part, eachMs = 100): number | null {
  const unused = new IdleShare(RPM, part, 0);
  for (let now = 0; now < MINUTES_3; now += eachMs) {
    unused.observe(left(now), spent, now);
    if (unused.isCertain(now)) return now;
  }
  return null;
}

describe('the part of missing pods', () => {
  it('a share counts as idle when it stays unused for a complete window, after the time in which its pods may start', () => {
    expect(certainAt(0.75, () => 250)).toBe(140_000);
    // A fixed window begins with all of it.
    expect(certainAt(0.75, (now) => 1_000 - 750 * ((now % 60_000) / 60_000))).toBe(140_000);
  });

  it('a share counts as used when little of the quota is left, when the others do not use theirs, or when it is small', () => {
    expect(certainAt(0.75, (now) => (now % 60_000 === 0 ? 20 : 250))).toBeNull();
    expect(certainAt(0.75, () => 600, 300)).toBeNull();
    expect(certainAt(0.95, () => 500)).toBeNull();
  });

  it('a few answers of pods with almost no quota do not make a share idle, whenever they arrive', () => {
    const each = (ms: number, left: (nowMs: number) => number) => certainAt(0.02, left, 20, ms);
    const used =
      (phaseMs: number) =>
      (now: number): number =>
        RPM * (1 - ((now + phaseMs) % 60_000) / 60_000);
    for (let phaseMs = 0; phaseMs < 60_000; phaseMs += 1_000)
      expect([each(3_000, used(phaseMs)), each(59_000, used(phaseMs))]).toEqual([null, null]);
    expect(each(3_000, () => 980)).toBe(141_000);
  });

  it('the live pods have what the shares of missing pods leave, and never less than the minimum', () => {
    const missing = (...shares: number[]) => shares.map((share, i) => ({ pod: String(i), share }));
    expect(partLeftBy([])).toBe(1);
    expect(partLeftBy(missing(0.25))).toBe(0.75);
    expect(partLeftBy(missing(0.25, 0.25))).toBe(0.5);
    // It had all of the plan, being alone, when it was lost; then another began, who is to wait.
    expect(partLeftBy(missing(1))).toBe(MIN_PART);
    expect(partLeftBy(missing(0.5, 0.5, MIN_PART))).toBe(MIN_PART);
  });
});
