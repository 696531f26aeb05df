import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { joinRecent, newestCalls, partOfCalls, restoreSlots, saveSlots, SLOTS, type RecentSlots } from '../../src/limiter/recent-slots.ts';

const MINUTE = 60_000;
const slots = fc
  .array(fc.tuple(fc.double({ min: 0, max: MINUTE, noNaN: true }), fc.nat(50)), { maxLength: 400 })
  .map((all): RecentSlots => all.sort(([one], [other]) => one - other));

/** When each call counts, oldest first. */
const callsOf = (all: RecentSlots): number[] => all.flatMap(([endMs, calls]) => Array.from({ length: calls }, () => endMs));

it('joins calls in a bounded number of slots, and no call becomes older, or younger than the width of a slot', () => {
  fc.assert(
    fc.property(slots, (all) => {
      const joined = joinRecent(all, MINUTE);
      expect(joined.length).toBeLessThanOrEqual(SLOTS + 1);
      const after = callsOf(joined);
      const laterBy = callsOf(all).map((atMs, i) => (after[i] as number) - atMs);
      expect(after).toHaveLength(laterBy.length);
      expect(laterBy.filter((ms) => ms < 0 || ms >= MINUTE / SLOTS)).toEqual([]);
    }),
  );
});

it('restores calls at their ages, and takes a clock that was set back for no time passed', () => {
  fc.assert(
    fc.property(slots, fc.integer({ min: -MINUTE, max: MINUTE }), (all, awayMs) => {
      const [savedAtMs, wallMs, restoredAtMs] = [MINUTE, 1_700_000_000_000, 12.5];
      const restored = restoreSlots(saveSlots(all, savedAtMs, wallMs), restoredAtMs, wallMs + awayMs);
      for (const [i, [endMs, calls]] of all.entries()) {
        const [atMs, inSlot] = restored[i] as RecentSlots[number];
        const ageMs = Math.max(0, savedAtMs - endMs + awayMs);
        expect(inSlot).toBe(calls);
        expect(atMs).toBeLessThanOrEqual(restoredAtMs);
        // Whole milliseconds, rounded up.
        expect(restoredAtMs - atMs).toBeLessThanOrEqual(ageMs + 0.01);
        expect(restoredAtMs - atMs).toBeGreaterThan(ageMs - 1.01);
      }
    }),
  );
});

it('keeps the newest calls of those after a moment', () => {
  fc.assert(
    fc.property(slots, fc.nat(MINUTE), fc.nat(2_000), (all, fromMs, most) => {
      const after = callsOf(all).filter((atMs) => atMs > fromMs);
      expect(callsOf(newestCalls(all, fromMs, most))).toEqual(after.slice(Math.max(0, after.length - most)));
    }),
  );
});

it('divides calls in equal parts that together hold all of them at any time, and fewer than one more for each part', () => {
  fc.assert(
    fc.property(slots, fc.integer({ min: 1, max: 8 }), fc.nat(MINUTE), (all, of, fromMs) => {
      const since = (some: RecentSlots): number => callsOf(some).filter((atMs) => atMs > fromMs).length;
      const excess = since(partOfCalls(all, of)) * of - since(all);
      expect(excess).toBeGreaterThanOrEqual(0);
      expect(excess).toBeLessThan(of);
    }),
  );
});
