import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ClockDistance } from '../../../src/limiter/inference/clock-distance.ts';

const MINUTE = 60_000;
const SECOND = 1_000;

/** The resets of a fixed window as a service states them, in whole seconds by a clock that is ahead by `aheadMs`. */
const localMs = (atMs: number, aheadMs: number): number => Math.ceil((atMs + aheadMs + MINUTE - (atMs % MINUTE)) / SECOND) * SECOND - atMs;

describe('ClockDistance', () => {
  it('never says that a window resets earlier than it does, nor a period later, however wrong the clocks are', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1_000_000, max: 1_000_000 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 60 }),
        (aheadMs, steps) => {
          const distance = new ClockDistance();
          let atMs = 0;
          for (const step of steps) {
            atMs += step;
            const untilMs = distance.untilReset(localMs(atMs, aheadMs), MINUTE);
            const truly = MINUTE - (atMs % MINUTE);
            if (Math.abs(aheadMs) > MINUTE + SECOND) expect(untilMs).toBeGreaterThanOrEqual(truly);
            expect(untilMs).toBeLessThanOrEqual(2 * MINUTE + 2 * SECOND);
          }
        },
      ),
    );
  });

  it('believes a local clock that may be right', () => {
    const distance = new ClockDistance();
    for (let atMs = 0; atMs < 5 * MINUTE; atMs += 700) expect(distance.untilReset(localMs(atMs, 0), MINUTE)).toBe(localMs(atMs, 0));
  });

  it('knows the reset to the second once it has seen the beginning of a window', () => {
    const distance = new ClockDistance();
    distance.untilReset(localMs(MINUTE, 300_000), MINUTE);
    for (let atMs = MINUTE; atMs < 2 * MINUTE; atMs += 5_000)
      expect(Math.abs(distance.untilReset(localMs(atMs, 300_000), MINUTE) - (2 * MINUTE - atMs))).toBeLessThanOrEqual(2 * SECOND);
  });

  it('begins anew when a clock is set', () => {
    const distance = new ClockDistance();
    distance.untilReset(localMs(0, 300_000), MINUTE);
    expect(distance.untilReset(localMs(1_000, -7_000_000), MINUTE)).toBeLessThanOrEqual(MINUTE + 2 * SECOND);
  });
});
