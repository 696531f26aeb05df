import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { CallSeries, MAX_SLOTS } from '../../src/checkpoint/call-series.ts';
import { readSlots, type StoredSlots } from '../../src/checkpoint/call-slots.ts';
import { Counters } from '../../src/job/run/counters.ts';
import { CONNECTION_REFUSED } from '../pool/scripted.ts';

type Event =
  | { readonly kind: 'sent' | 'refused' | 'down' | 'back' }
  | { readonly kind: 'later'; readonly ms: number }
  | { readonly kind: 'throttled'; readonly waitMs: number };

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: 'sent' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('later' as const), ms: fc.oneof(fc.nat({ max: 3_000 }), fc.nat({ max: 10_000_000 })) }),
  },
  fc.record({ kind: fc.constant('throttled' as const), waitMs: fc.nat({ max: 100_000 }) }),
  fc.record({ kind: fc.constantFrom('refused' as const, 'down' as const, 'back' as const) }),
);
/** `gapMs`: the change of the wall clock since the run before; negative when the clock was set back. */
const run = fc.record({
  events: fc.array(event, { maxLength: 60 }),
  gapMs: fc.integer({ min: -1_000_000, max: 1_000_000_000 }),
  rpm: fc.option(fc.integer({ min: 1, max: 100_000 })),
});

function happen(counters: Counters, clock: { ms: number }, some: Event): void {
  switch (some.kind) {
    case 'sent':
      return counters.sent({ step: 'enrich', keys: 1 });
    case 'refused':
      // The call was not sent, so it does not count.
      counters.sent({ step: 'enrich', keys: 1 });
      return counters.answered({ step: 'enrich', keys: 1, origin: null, attempt: 1, slowestMs: 0 }, CONNECTION_REFUSED);
    case 'later':
      clock.ms += some.ms;
      return undefined;
    case 'throttled':
      return counters.throttled({ untilMs: clock.ms + some.waitMs, isNew: true, cause: 'retry_after', what: '' });
    case 'down':
      return counters.wentDown();
    case 'back':
      return counters.cameBack();
    default:
      return some satisfies never;
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

describe('CallSeries', () => {
  it('has every call, every permitted call and every wait, over any resumes, in few slots in order', () => {
    fc.assert(
      fc.property(fc.array(run, { minLength: 1, maxLength: 4 }), (runs) => {
        // The monotonic clock starts again with each run, the wall clock does not.
        let [wall, permitted, downMs, active] = [1_700_000_000_000, 0, 0, 0];
        let totals: ReturnType<Counters['totals']> | null = null;
        for (const { events, gapMs, rpm } of runs) {
          const clock = { ms: 5_000 };
          const series = new CallSeries({ from: totals?.series, rpm, nowMs: clock.ms, wallMs: wall });
          const counters: Counters = new Counters(totals, () => clock.ms, series);
          let down = false;
          for (const some of events) {
            happen(counters, clock, some);
            if (some.kind === 'down' || some.kind === 'back') down = some.kind === 'down';
            if (some.kind === 'later' && down) downMs += some.ms;
          }
          totals = JSON.parse(JSON.stringify(counters.totals({ lookups: 0, reused: 0 }))) as ReturnType<Counters['totals']>;
          permitted += ((clock.ms - 5_000) * (rpm ?? 0)) / 60_000;
          active += clock.ms - 5_000;
          wall += clock.ms - 5_000 + gapMs;
        }
        const { slots } = readSlots(totals?.series);
        expect(slots.length).toBeLessThanOrEqual(MAX_SLOTS);
        expect(slots.every(({ number }, i) => i === 0 || number > (slots[i - 1]?.number ?? Infinity))).toBe(true);
        expect(sum(slots.map(({ calls }) => calls))).toBe(totals?.calls['enrich'] ?? 0);
        // A checkpoint stores hundredths and whole milliseconds.
        const near = runs.length * MAX_SLOTS;
        expect(Math.abs(sum(slots.map((slot) => slot.permitted)) - permitted)).toBeLessThanOrEqual(near * 0.005 + permitted * 1e-9);
        expect(Math.abs(sum(slots.map((slot) => slot.downMs)) - downMs)).toBeLessThanOrEqual(near * 0.5);
        const held = sum(slots.map((slot) => slot.throttledMs));
        expect(held).toBeLessThanOrEqual((totals?.throttled.waitedMs ?? 0) + near * 0.5);
        expect(held + downMs).toBeGreaterThanOrEqual((totals?.throttled.waitedMs ?? 0) - near * 0.5);
        expect(held + downMs).toBeLessThanOrEqual(active + near);
      }),
    );
  });

  it('shows when calls happened: a burst, a pause that the service asked for, a gap between two runs', () => {
    let from: StoredSlots | undefined;
    for (const wallMs of [1_700_000_000_000, 1_700_000_100_000]) {
      const series = new CallSeries({ from, rpm: 600, nowMs: 0, wallMs });
      for (let i = 0; i < 50; i++) series.sent(i);
      series.throttled(500, 2_500);
      series.sent(2_600);
      from = series.keep(3_000);
    }
    const of = (number: number, calls: number, throttledMs: number): object => ({ number, calls, permitted: 10, throttledMs, downMs: 0 });
    const at = [1_700_000_000, 1_700_000_100].flatMap((start) => [of(start, 50, 500), of(start + 1, 0, 1_000), of(start + 2, 1, 500)]);
    // The end of a run begins a new, empty slot.
    expect(readSlots(from).slots.filter(({ permitted }) => permitted > 0)).toEqual(at);
  });

  it('takes a few kilobytes of a checkpoint, however long the job is', () => {
    const series = new CallSeries({ from: undefined, rpm: 5_000, nowMs: 0, wallMs: 1_700_000_000_000 });
    for (let ms = 0; ms < 30 * 86_400_000; ms += 60_000) series.sent(ms + 0.123);
    expect(JSON.stringify(series.keep(30 * 86_400_000)).length).toBeLessThan(10_000);
  });
});
