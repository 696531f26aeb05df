import { describe, expect, it } from 'vitest';
import { LEAST_PART, partOfThose } from '../../../src/limiter/shared/messages.ts';
import { Unused } from '../../../src/limiter/shared/unused.ts';

const RPM = 1_000;
const MINUTES_3 = 180_000;

/** An answer every so often. Returns when it is certain that nobody uses the part of the missing; null: never. */
function certainAt(part: number, left: (nowMs: number) => number, spent = RPM * part, eachMs = 100): number | null {
  const unused = new Unused(RPM, part, 0);
  for (let now = 0; now < MINUTES_3; now += eachMs) {
    unused.told(left(now), spent, now);
    if (unused.isCertain(now)) return now;
  }
  return null;
}

describe('the part of missing pods', () => {
  it('is seen to be used by nobody when it is left over for a whole window, after the time in which they may begin', () => {
    expect(certainAt(0.75, () => 250)).toBe(140_000);
    // A fixed window begins with all of it.
    expect(certainAt(0.75, (now) => 1_000 - 750 * ((now % 60_000) / 60_000))).toBe(140_000);
  });

  it('is used as far as can be seen when little is left at any time, when the others do not use theirs, or when it is small', () => {
    expect(certainAt(0.75, (now) => (now % 60_000 === 0 ? 20 : 250))).toBeNull();
    expect(certainAt(0.75, () => 600, 300)).toBeNull();
    expect(certainAt(0.95, () => 500)).toBeNull();
  });

  it('is not taken for unused by the few answers of those who are left next to nothing, however these fall', () => {
    const each = (ms: number, left: (nowMs: number) => number) => certainAt(0.02, left, 20, ms);
    const used = (phaseMs: number) => (now: number): number => RPM * (1 - ((now + phaseMs) % 60_000) / 60_000);
    for (let phaseMs = 0; phaseMs < 60_000; phaseMs += 1_000) expect([each(3_000, used(phaseMs)), each(59_000, used(phaseMs))]).toEqual([null, null]);
    expect(each(3_000, () => 980)).toBe(141_000);
  });

  it('is what they were told to be theirs, and all of that', () => {
    const missing = (...shares: number[]) => shares.map((share, i) => ({ pod: String(i), share }));
    expect(partOfThose([])).toBe(1);
    expect(partOfThose(missing(0.25))).toBe(0.75);
    expect(partOfThose(missing(0.25, 0.25))).toBe(0.5);
    // It had all of the plan, being alone, when it was lost; then another began, who is to wait.
    expect(partOfThose(missing(1))).toBe(LEAST_PART);
    expect(partOfThose(missing(0.5, 0.5, LEAST_PART))).toBe(LEAST_PART);
  });
});
