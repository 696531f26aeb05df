import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { joinSlots, storeSlots, NARROWEST_MS, readSlots, type CallSlot, type CallTimeline } from '../../src/checkpoint/call-slots.ts';

const n = fc.nat({ max: 1_000_000 });
const slot: fc.Arbitrary<CallSlot> = fc.record({
  number: fc.nat({ max: 2_000_000_000 }),
  calls: n,
  permitted: n,
  throttledMs: n,
  downMs: n,
});
/** Slots in order without repetition, some close together, some far apart. */
const series: fc.Arbitrary<CallTimeline> = fc
  .record({ power: fc.nat({ max: 12 }), slots: fc.array(slot, { maxLength: 60 }), near: fc.boolean() })
  .map(({ power, slots, near }) => {
    const numbers = new Map(slots.map((one, i) => (near ? { ...one, number: 1_700_000_000 + i } : one)).map((one) => [one.number, one]));
    return { widthMs: NARROWEST_MS * 2 ** power, slots: [...numbers.values()].sort((a, b) => a.number - b.number) };
  });

const sums = (all: readonly CallTimeline[]): object => {
  const slots = all.flatMap((one) => one.slots);
  const sum = (of: (one: CallSlot) => number): number => slots.reduce((total, one) => total + of(one), 0);
  return {
    calls: sum(({ calls }) => calls),
    permitted: sum(({ permitted }) => permitted),
    throttledMs: sum(({ throttledMs }) => throttledMs),
    downMs: sum(({ downMs }) => downMs),
  };
};

describe('slots of calls', () => {
  it('joined series have few slots in order, with the same sums and times', () => {
    fc.assert(
      fc.property(fc.array(series, { maxLength: 4 }), fc.integer({ min: 2, max: 40 }), (all, most) => {
        const joined = joinSlots(all, most);
        expect(joined.slots.length).toBeLessThanOrEqual(most);
        expect(sums([joined])).toEqual(sums(all));
        expect(joined.slots.every(({ number }, i) => i === 0 || number > (joined.slots[i - 1]?.number ?? Infinity))).toBe(true);
        for (const { number } of joined.slots) {
          const within = all.flatMap(({ widthMs, slots }) =>
            slots.filter((one) => Math.floor((one.number * widthMs) / joined.widthMs) === number),
          );
          expect(joined.slots.find((one) => one.number === number)?.calls).toBe(within.reduce((sum, { calls }) => sum + calls, 0));
        }
      }),
    );
  });

  it('joined slots stay as narrow as possible', () => {
    fc.assert(
      fc.property(series, fc.integer({ min: 2, max: 40 }), (one, most) => {
        const { widthMs } = joinSlots([one], most);
        expect(Math.log2(widthMs / one.widthMs) % 1).toBe(0);
        if (widthMs > one.widthMs)
          expect(new Set(one.slots.map(({ number }) => Math.floor((number * one.widthMs) / (widthMs / 2)))).size).toBeGreaterThan(most);
      }),
    );
  });

  it('stored slots are read unchanged, and an old checkpoint without slots reads as empty', () => {
    fc.assert(
      fc.property(series, (one) => {
        expect(readSlots(JSON.parse(JSON.stringify(storeSlots(one))) as ReturnType<typeof storeSlots>)).toEqual(one);
      }),
    );
    expect(readSlots(undefined)).toEqual({ widthMs: NARROWEST_MS, slots: [] });
  });
});
