import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { RefusalPace, SLOWEST_PACE } from '../../../src/limiter/inference/refusal-pace.ts';
import { seeded } from '../../support/leads.ts';

function paceAfter(pace: RefusalPace, calls: number): number {
  for (let i = 0; i < calls; i++) pace.admitted();
  return pace.share;
}

describe('RefusalPace', () => {
  it('one refusal costs two hundredths, most of which admitted calls take back', () => {
    const pace = new RefusalPace();
    expect(paceAfter(pace, 200)).toBe(0.96);
    pace.refused();
    expect(pace.share).toBeCloseTo(0.98 * 0.96, 9);
    expect(paceAfter(pace, 400)).toBeCloseTo(0.99 * 0.96, 9);
    expect(paceAfter(pace, 400)).toBe(0.96);
  });

  it('a pace that a stall of the network has brought down is back at 96 % within two thousand calls', () => {
    const pace = new RefusalPace();
    for (let i = 0; i < 10; i++) {
      paceAfter(pace, 50);
      pace.refused();
    }
    expect(pace.share).toBeLessThan(0.6);
    expect(paceAfter(pace, 2_000)).toBe(0.96);
  });

  it('calls slow down until fewer than one of a hundred is refused, whatever share of them the network delays', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 0.6, noNaN: true }), fc.integer(), (spread, seed) => {
        const [pace, random] = [new RefusalPace(), seeded(seed)];
        let refused = 0;
        for (let call = 0; call < 12_000; call++) {
          // A call is refused when its delay takes away more than the distance that the pace leaves beyond the interval.
          if (random() * spread > 1 / pace.share - 1) {
            if (call >= 2_000) refused++;
            pace.refused();
          } else pace.admitted();
        }
        expect(refused).toBeLessThan(100);
        expect(pace.share).toBeGreaterThan(0.8 / (1 + spread));
      }),
    );
  });

  it('no row of refusals brings the pace below its least', () => {
    const pace = new RefusalPace();
    for (let i = 0; i < 100; i++) pace.refused();
    expect(pace.share).toBe(SLOWEST_PACE);
  });
});
